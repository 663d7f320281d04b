"""The head that trains a decoder: which tokens are asked for, when a latent is drawn, what decoders may be."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError

import spaces
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, DecodingHead, LstmConfig, Writing, asked, drawn, wanted
from psitext.state import Posterior, SentenceState

MADE = spaces.Made(sizes=(3, 1, 5))
BATCH = MADE.build(np.arange(3))


def state(sigma: float = 1.0) -> Posterior:
    mean = torch.arange(6, dtype=torch.float64).reshape(3, 2)
    return Posterior(mean, torch.full_like(mean, 2 * float(np.log(sigma))))


def test_known_all_tokens_but_the_first_are_asked_for() -> None:
    rows = [MADE.row(sample) for sample in range(3)]
    assert wanted(BATCH).tolist() == [token for row in rows for token in row[1:]]
    assert asked(BATCH.targets["written"], BATCH.targets["written_length"]).sum(1).tolist() == [4, 2, 6]


def test_law_logits_are_those_of_the_tokens_before_in_the_same_order() -> None:
    head = DecodingHead(spaces.writer(2)).eval()
    predicted = head(state(), BATCH)
    assert torch.equal(predicted["latent"], state().vector)
    one_by_one = []
    for sample in range(3):
        row = torch.tensor([MADE.row(sample)])
        one_by_one.append(head.decoder.logits(head.decoder.states(row[:, :-1], state().vector[sample][None]))[0])
    torch.testing.assert_close(predicted["written"], torch.cat(one_by_one))


def test_law_only_training_draws_and_only_with_noise() -> None:
    head = DecodingHead(spaces.writer(2))
    assert torch.equal(head.eval()(state(), BATCH)["latent"], state().vector)
    torch.manual_seed(3)
    first = head.train()(state(), BATCH)["latent"]
    torch.manual_seed(3)
    assert torch.equal(head(state(), BATCH)["latent"], first)
    assert not torch.equal(first, state().vector)
    quiet = DecodingHead(head.decoder, noise=False).train()
    assert torch.equal(quiet(state(), BATCH)["latent"], state().vector)


def test_known_draws_have_the_posteriors_moments() -> None:
    torch.manual_seed(0)
    wide = Posterior(torch.full((20_000, 1), 2.0), torch.full((20_000, 1), 2 * float(np.log(0.5))))
    sample = drawn(wide)
    assert float(sample.mean()) == pytest.approx(2.0, abs=0.02)
    assert float(sample.std()) == pytest.approx(0.5, abs=0.01)


def test_law_a_head_reads_posteriors_only() -> None:
    with pytest.raises(AssertionError):
        DecodingHead(spaces.writer(2))(SentenceState(torch.zeros(3, 2)), BATCH)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"width": 30, "heads": 4}, "shared"),
        ({"model": "llama", "heads": 4, "kv_heads": 3}, "cannot share"),
        ({"kv_heads": 2}, "for a llama"),
        ({"injection": "x"}, "inject"),
    ],
)
def test_law_shapes_that_do_not_fit_are_refused(settings: dict[str, object], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        CausalConfig(**settings)


@pytest.mark.parametrize("settings", [{"temperature": np.inf}, {"temperature": np.nan}, {"top_p": 0.0}, {"top_k": -1}])
def test_known_draws_from_no_distribution_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(UserError, match="temperature is above 0 and finite, top_p above 0"):
        Writing(sample=True, **settings).check()  # type: ignore[arg-type]


def test_known_kinds_say_what_they_are() -> None:
    assert CausalConfig(layers=3, width=32, heads=2).in_words == "gpt2, 3 layers of width 32"
    assert LstmConfig(width=7).in_words == "an LSTM of width 7"
