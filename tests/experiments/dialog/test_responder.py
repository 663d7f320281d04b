"""What answers: draws by their keys, styles by their share, sentences that are the decoder's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import talks
from psitext.errors import UserError
from psitext.experiments.dialog import Answering, Responder, load_responder, respond_run
from psitext.heads.decoding import Writing

ASKED = [["where is the cat ?"], ["do you like this tea ?", "this tea is here .", "is this tea yours ?"], ["no ."]]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Responder:
    place = talks.written(tmp_path_factory.mktemp("responder"))
    style = [{"files": ["style.txt"], "dir": str(place)}]
    respond_run(talks.recipe(place, style=style, train={"steps": 40}), place / "run")
    return load_responder(place / "run")


def test_law_one_answer_is_the_greedy_one_of_the_contexts_mean(found: Responder) -> None:
    mean = found.encode(ASKED).vector
    assert found.answers(ASKED) == [[one] for one in found.space.decode(mean)]
    assert found.respond(ASKED[1]) == found.answers([ASKED[1]])[0]
    tidy = [["where is the cat?"], ["", "do you like this tea?", "this tea is here.", "is this tea yours?"], ["no."]]
    assert torch.equal(found.encode(tidy).vector, mean), "spaces before marks and empty utterances are nothing"


def test_law_only_the_last_utterances_are_read(found: Responder) -> None:
    long = [["no ."] * 3 + ["do you like my hat ?", "no ."] * 5]
    assert torch.equal(found.encode(long).vector, found.encode([long[0][-10:]]).vector)
    batch = found.encode([*ASKED, *long]).vector
    assert torch.allclose(batch, torch.cat([found.encode([one]).vector for one in (*ASKED, *long)]), atol=1e-5)


def test_law_draws_are_named_by_seed_context_and_answer(found: Responder) -> None:
    def at(n: int, seed: int = 0, spread: float | None = 0.5) -> torch.Tensor:
        return found.latents(ASKED, Answering(n, spread, seed=seed)).view(3, n, -1)

    ten = at(10)
    assert torch.equal(at(10), ten)
    assert torch.equal(at(4), ten[:, :4]), "fewer answers are the first of more"
    assert not torch.allclose(at(10, seed=1), ten)
    mean = found.encode(ASKED).vector[:, None]
    deviation = float((at(400) - mean).std())
    assert deviation == pytest.approx(0.5, rel=0.05)
    assert torch.equal(at(3, spread=0.0), mean.expand(-1, 3, -1))
    assert float((at(400, spread=None) - mean).std()) == pytest.approx(0.3, rel=0.05), (
        "several have a spread of their own"
    )
    assert torch.equal(at(1, spread=None), mean)


def test_law_a_style_is_a_share_of_the_way_to_near_sentences(found: Responder) -> None:
    mean = found.encode(ASKED).vector
    assert found.style is not None
    full = found.latents(ASKED, Answering(12, spread=0.0, style=1.0)).view(3, 12, -1)
    order = torch.cdist(mean, found.style).argsort(dim=1)
    near = found.style[order[:, torch.arange(12) % 10]]
    assert torch.allclose(full, near, atol=1e-6)
    half = found.latents(ASKED, Answering(12, spread=0.0, style=0.5)).view(3, 12, -1)
    assert torch.allclose(half, (mean[:, None] + near) / 2, atol=1e-6)


def test_law_a_cvae_draws_from_the_prior_of_its_context(found: Responder) -> None:
    facts = {**found.contexts.facts, "dialog": {**found.contexts.facts["dialog"], "method": "cvae"}}
    other = replace(found, contexts=replace(found.contexts, facts=facts))
    state = other.encode(ASKED)
    draws = other.latents(ASKED, Answering(600)).view(3, 600, -1)
    assert torch.allclose(draws.mean(1), state.vector, atol=0.3)
    assert torch.allclose(draws.std(1), (state.log_var / 2).exp(), rtol=0.15)


def test_law_answers_that_are_drawn_word_by_word_differ_and_come_again(found: Responder) -> None:
    how = Writing(max_len=12, sample=True, temperature=2.0, seed=5)
    some = found.respond(ASKED[0], 6, spread=0.0, writing=how)
    assert len(set(some)) > 1
    assert found.respond(ASKED[0], 6, spread=0.0, writing=how) == some
    assert len(set(found.respond(ASKED[0], 6, spread=0.0))) == 1


def test_known_mistakes(found: Responder) -> None:
    for given, how, why in (
        ([], Answering(), "no context"),
        (["hello"], Answering(), "a context is a list of utterances"),
        ([["no ."], [" "]], Answering(), "context 2 is empty"),
        (ASKED, Answering(n=0), "at least one answer"),
        (ASKED, Answering(spread=-1.0), "0 or more"),
        (ASKED, Answering(style=1.5), "from 0 to 1, not 1.5"),
    ):
        with pytest.raises(UserError, match=why):
            found.answers(given, how)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="trained without a style"):
        replace(found, style=None).respond(["no ."], style=0.5)
    with pytest.raises(UserError, match="samples is 1, not 2"):
        found.respond(["no ."], writing=Writing(max_len=9, sample=True, samples=2))


def test_known_a_folder_comes_back(found: Responder, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no model at"):
        load_responder(tmp_path / "nothing")
