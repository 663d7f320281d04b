"""Latents to sentences: the same call writes the same, whatever the batch; and what cannot be written from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import tellers
import tiny
from psitext.errors import UserError
from psitext.heads.decoding import Writing
from psitext.model import TEXT, Model, Sentences, writing
from psitext.state import Ket, SentenceState
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network

SHORT = Writing(max_len=12)


def test_law_sentences_come_back_from_their_latents_in_any_form() -> None:
    model = tellers.space()
    posterior = model.encode(tellers.SENTENCES)
    found = model.decode(posterior, SHORT)
    assert found == tellers.SENTENCES
    assert model.decode(posterior.vector, SHORT) == found
    assert model.decode(posterior.vector.numpy(), SHORT) == found
    assert model.decode(posterior, SHORT) == model.decode(posterior), "greedy and as long as it can be is the usual way"


def test_law_what_is_written_does_not_depend_on_how_many_are_decoded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tellers.space()
    latent = model.encode(tellers.SENTENCES).vector
    together = model.decode(latent, SHORT)
    monkeypatch.setattr(writing, "AT_ONCE", 5)
    assert model.decode(latent, SHORT) == together


def test_law_draws_follow_their_seed_and_parts_of_a_batch_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tellers.space()
    latent = torch.zeros(6, tellers.WIDTH)
    how = replace(SHORT, sample=True, temperature=3.0, seed=1)
    state = torch.random.get_rng_state()
    found = model.decode(latent, how)
    assert torch.equal(torch.random.get_rng_state(), state), "the global generator is left alone"
    assert found == model.decode(latent, how)
    assert found != model.decode(latent, replace(how, seed=2))
    assert len(set(found)) > 1
    monkeypatch.setattr(writing, "AT_ONCE", 3)
    parts = model.decode(latent, how)
    assert parts[:3] != parts[3:], "the second part has draws of its own"


def test_known_several_sentences_of_one_latent_stand_together() -> None:
    model = tellers.space()
    latent = model.encode(tellers.SENTENCES[:2]).vector
    found = model.decode(latent, replace(SHORT, beams=3, samples=2))
    assert len(found) == 4
    assert found[::2] == tellers.SENTENCES[:2]


@pytest.mark.parametrize(
    ("latent", "how", "word"),
    [
        (np.zeros((2, tellers.WIDTH + 1)), SHORT, r"rows of 6 numbers, an array \(B, 6\), not \(2, 7\)"),
        (np.zeros(tellers.WIDTH), SHORT, r"not \(6,\)"),
        (np.full((1, tellers.WIDTH), np.nan), SHORT, "not finite"),
        (np.zeros((1, tellers.WIDTH)), Writing(max_len=tellers.PLACES), "max_len is at most 15"),
        (np.zeros((1, tellers.WIDTH)), replace(SHORT, beams=0), "beams is at least 1, not 0"),
        (np.zeros((1, tellers.WIDTH)), replace(SHORT, sample=True, beams=2), "sampled or searched by beams"),
        (np.zeros((1, tellers.WIDTH)), replace(SHORT, samples=2), "at least as many beams"),
        (np.zeros((1, tellers.WIDTH)), replace(SHORT, temperature=0.0), "temperature is above 0"),
        (np.zeros((1, tellers.WIDTH)), replace(SHORT, top_p=1.5), "top_p above 0 and at most 1"),
    ],
)
def test_law_what_makes_no_sense_is_refused(latent: np.ndarray, how: Writing, word: str) -> None:
    with pytest.raises(UserError, match=word):
        tellers.space().decode(latent, how)


def test_law_other_models_do_not_write_and_a_language_model_does_not_read() -> None:
    tokenizer = train_tokenizer("words", tellers.SENTENCES, tiny.VOCAB)
    bert = Model(Network(tiny.bert(), Sentences()), {TEXT: tokenizer}, TextConfig(max_len=16))
    assert not bert.writes
    with pytest.raises(UserError, match="does not write"):
        bert.decode(torch.zeros(1, 2))
    with pytest.raises(UserError, match="does not write"):
        bert.writer  # noqa: B018
    with pytest.raises(UserError, match="language model"):
        tellers.language_model().encode(["a girl sits"])


@pytest.mark.parametrize("kind", [SentenceState, Ket])
def test_known_states_that_are_no_latents(kind: type[SentenceState | Ket]) -> None:
    model = tellers.space()
    with pytest.raises(UserError, match=f"latents are the Posterior that encode gives .* not a {kind.__name__}"):
        model.decode(kind(torch.zeros(2, tellers.WIDTH)))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["x", None, ["x"], [[0.0], [0.0, 1.0]], {}, np.array([[1j]]), [[True]]], ids=str)
def test_known_what_is_no_latent(given: object) -> None:
    with pytest.raises(UserError, match=f"latents are the Posterior that .* not a {type(given).__name__}"):
        tellers.space().decode(given)  # type: ignore[arg-type]
