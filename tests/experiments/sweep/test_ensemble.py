"""Ensembles: restarts do not know of each other, each stops in its own time, and the scores are the encoder's."""

from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from psitext.encoders.rac import Rac, RacConfig
from psitext.experiments.sweep.ensemble import Weights, _Progress, accuracy, fresh, logits, train
from psitext.experiments.sweep.flatten import word_vectors
from psitext.experiments.sweep.protocol import Protocol
from psitext.experiments.sweep.reading import read
from psitext.text.batches import lay_out, padded


@pytest.mark.parametrize("words", ["flatten", "joint"])
def test_law_restarts_are_trained_as_if_alone(protocol: Protocol, words: str) -> None:
    protocol = protocol.model_copy(
        update={"words": words, "init": "uniform", "lr": 3e-2, "min_delta": 0.005, "patience": 1, "epochs": 12}
    )
    data = read(protocol, None)
    vectors = word_vectors(protocol, data)[0] if words == "flatten" else None
    together = train(protocol, 3, data.train, data.words, vectors, [1, 2, 3, 4])
    assert len({len(one.losses) for one in together}) > 1, "some stop earlier, so that restarts are taken out"
    for one in together:
        [alone] = train(protocol, 3, data.train, data.words, vectors, [one.seed])
        assert_close(torch.tensor(alone.losses), torch.tensor(one.losses), rtol=1e-4, atol=1e-5)
        for name, weight in one.weights.items():
            assert_close(alone.weights[name], weight, rtol=1e-3, atol=1e-4)


def test_law_training_learns(protocol: Protocol) -> None:
    protocol = protocol.model_copy(update={"words": "joint", "epochs": 25, "init": "uniform"})
    data = read(protocol, None)
    [one] = train(protocol, 4, data.train, data.words, None, [1])
    assert one.losses[-1] < 0.75 * one.losses[0]
    stacked: Weights = {name: weight[None] for name, weight in one.weights.items()}
    assert float(accuracy(stacked, data.train, None)) > 0.8


def test_parity_with_the_encoder(protocol: Protocol) -> None:
    """The same circuit through the encoder that a fine-tuning trains."""
    protocol = protocol.model_copy(update={"words": "joint", "init": "uniform"})
    data = read(protocol, None)
    weights = fresh(protocol, 5, data.words, [7])
    encoder = Rac(RacConfig(vocab_size=data.words, features=4, bond=5, max_len=10, pad="word"))
    with torch.no_grad():
        for name, parameter in encoder.cells[0].named_parameters():
            parameter.copy_(weights[name][0])
        encoder.words.token.weight.copy_(weights["words"][0])
        encoder.words.filler.copy_(weights["words"][0, 0])  # type: ignore[union-attr]
    rows = data.train.ids[:6]
    texts = [torch.tensor([2, *row[row > 0].tolist(), 3]) for row in rows]
    lengths = torch.tensor([len(text) for text in texts]).numpy()
    flat = torch.cat(texts).numpy()
    batch = lay_out(flat, 0 * flat, padded(lengths), torch.arange(6).numpy(), pad=0, targets={})
    state = encoder(batch).to_real()
    expected = state[:, :-1] @ weights["readout"][0] + weights["bias"][0]
    assert_close(logits(weights, rows, None)[0], expected, rtol=1e-5, atol=1e-6)


def test_known_early_stopping() -> None:
    """Keras' rule: an epoch counts if it is better than the best by more than min_delta."""
    rule = Protocol(min_delta=0.01, patience=2, epochs=50)
    progress = _Progress()
    assert [progress.stops(loss, rule) for loss in (1.0, 0.9, 0.895, 0.88, 0.875, 0.874)] == [False] * 5 + [True]
    assert _Progress().stops(math.nan, rule), "what diverged stops"
    assert _Progress().stops(0.5, Protocol(epochs=1))


def test_law_a_diverged_restart_is_marked_and_does_no_harm(protocol: Protocol) -> None:
    protocol = protocol.model_copy(update={"words": "joint", "epochs": 3})
    data = read(protocol, None)
    broken = fresh(protocol, 3, data.words, [1, 2])
    broken["hidden"][0] = math.nan

    def made(*_: object) -> Weights:
        return {name: weight.clone() for name, weight in broken.items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psitext.experiments.sweep.ensemble.fresh", made)
        first, second = train(protocol, 3, data.train, data.words, None, [1, 2])
    assert first.diverged and len(first.losses) == 1
    assert not second.diverged and all(math.isfinite(loss) for loss in second.losses)
