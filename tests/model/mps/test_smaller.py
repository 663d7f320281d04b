"""A compressed circuit is a model like any other, as near to the old one as it says."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import racs
from psitext.encoders.automaton import Automaton
from psitext.errors import UserError
from psitext.model import Model, load
from psitext.model.mps import Smaller
from psitext.model.mps.smaller import analysis
from psitext.text.examples import Example

TEXTS = ["a fine film", "odd", "not a fine cast of people", "zebra", ""]


def answers(model: Model, texts: list[str]) -> np.ndarray:
    """What decides: logits less their mean, or scores."""
    logits = model.logits([Example(text) for text in texts]).astype(np.float64)
    return logits - logits.mean(1, keepdims=True) if racs.LABELS[logits.shape[1]] else logits


@pytest.mark.parametrize("metric", ["paper", "data"])
@pytest.mark.parametrize("pad", ["none", "word", "zero"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_law_at_its_own_bond_it_is_the_same_function(classes: int, pad: str, metric: str, tmp_path: Path) -> None:
    model = racs.model(classes, pad=pad)
    found = model.compress(5, metric=metric)
    assert (found.bond, found.of, found.predicted_error) == (5, 5, 0.0)
    np.testing.assert_allclose(answers(found.model, TEXTS), answers(model, TEXTS), rtol=1e-4, atol=1e-4)
    again = load(found.model.save(tmp_path / "small"))
    assert isinstance(again.encoder, Automaton) and again.encoder.config.bond == 5
    assert torch.equal(again.encode(TEXTS).vector, found.model.encode(TEXTS).vector)
    labels = [answer.label for answer in model.predict(TEXTS)]
    assert [answer.label for answer in again.predict(TEXTS)] == (pytest.approx(labels) if classes == 1 else labels)
    assert again.temperature == model.temperature == 1.5
    assert again.law is not None and torch.equal(again.law.words, model.law.words)  # type: ignore[union-attr]


@pytest.mark.parametrize("pad", ["none", "word"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_parity_of_the_predicted_error_with_all_sentences(classes: int, pad: str) -> None:
    """Relative root mean square over every sentence of two words, by its probability; fillers as often as the law has
    them at each place.
    """
    length = 2
    model = racs.model(classes, pad=pad, max_len=12)
    found = model.compress(2, length=length)
    assert found.length == length and found.metric == "data"
    assert model.law is not None
    probs = (model.law.words.double() / model.law.words.sum()).tolist()
    shares = model.law.filled(length).tolist()
    names = model.tokenizer.tokens(range(model.tokenizer.vocab_size))
    total, wrong = 0.0, 0.0
    choices = [(None, 1.0) if pad == "word" else None, *((name, p) for name, p in zip(names, probs, strict=True) if p)]
    circuit, small = (reading(one, length) for one in (model, found.model))
    for sentence in itertools.product([one for one in choices if one is not None], repeat=length):
        weight = 1.0
        for (word, p), share in zip(sentence, shares, strict=True):
            weight *= share if word is None else p * (1 - share if pad == "word" else 1)
        exact, other = (one([word for word, _ in sentence]) for one in (circuit, small))
        total += weight * float((exact**2).sum())
        wrong += weight * float(((exact - other) ** 2).sum())
    assert found.predicted_error == pytest.approx((wrong / total) ** 0.5, rel=2e-3, abs=1e-5)
    assert 0.001 < found.predicted_error < 1


def reading(model: Model, length: int):  # type: ignore[no-untyped-def]
    """Words (None: the filler) -> answers in double, by the encoder's own weights and nothing before the words."""
    encoder, head = model.encoder, model.network.head.output  # type: ignore[union-attr]
    ids = {name: at for at, name in enumerate(model.tokenizer.tokens(range(model.tokenizer.vocab_size)))}

    def answer(words: list[str | None]) -> np.ndarray:
        x = [encoder.words.filler if word is None else encoder.token.weight[ids[word]] for word in words]
        x = [one.detach().double() for one in x]
        if isinstance(encoder, Automaton):
            h = encoder.first.detach().double()
            for word in x:
                h = torch.einsum("l,lsr,s->r", h, encoder.core.detach().double(), torch.cat([word, word.new_ones(1)]))
        else:
            cell = encoder.cells[0]
            h = torch.zeros(4, dtype=torch.float64)
            for word in x:
                h = (cell.hidden.double() @ h + cell.hidden_bias) * (cell.inputs.double() @ word + cell.input_bias)
            h = torch.cat([h.detach(), h.new_ones(1)])
        logits = (head.weight.detach().double() @ h + head.bias.detach().double()).numpy()
        return logits - logits.mean() if len(logits) > 1 else logits

    return answer


@pytest.mark.parametrize("tolerance", [0.5, 0.05, 1e-9, 0.0])
def test_law_a_tolerance_is_kept_by_the_smallest_bond(tolerance: float) -> None:
    model = racs.model()
    found = model.compress(tolerance=tolerance)
    assert found.predicted_error <= tolerance
    if found.bond > 1:
        assert model.compress(found.bond - 1).predicted_error > tolerance


def test_known_the_usual_length_and_metric() -> None:
    model = racs.model()
    assert model.law is not None
    assert (model.compress(2).length, model.compress(2).metric) == (model.law.typical, "data")
    assert racs.model(pad="word").compress(2).length == 10
    lawless = racs.model(law=False).compress(2)
    assert (lawless.length, lawless.metric) == (10, "paper")
    given = racs.model(law=False).compress(2, texts=["a fine film", "odd odd odd"])
    assert (given.length, given.metric) == (3, "data")


def test_known_what_its_folder_says(tmp_path: Path) -> None:
    found = racs.model().compress(3)
    path = found.model.save(tmp_path / "small")
    card = (path / "card.md").read_text(encoding="utf-8")
    assert card.startswith("# tiny, compressed\n")
    assert "a linear recurrence of bond dimension 3 on words of 3 features" in card
    assert "compressed: bond 3, from bond 5, metric data" in card


def test_law_the_analysis_bounds_what_is_made() -> None:
    model = racs.model()
    rows = analysis(model)
    assert [row["bond"] for row in rows] == [1, 2, 3, 4, 5]
    for row in rows:
        assert row["no chain below"] <= row["a core for each word"] + 1e-9
        assert row["no chain below"] <= row["one core"] + 1e-9
        assert row["one core"] == pytest.approx(model.compress(row["bond"]).predicted_error, abs=1e-12)
    assert rows[-1]["one core"] == 0.0 and rows[-1]["a core for each word"] < 1e-6


def test_known_what_is_refused() -> None:
    model = racs.model()
    cases = {
        "say how small: by chi, the size of the smaller state, or by tolerance": [{}, {"chi": 2, "tolerance": 0.1}],
        r"bond 0 lies outside 1\.\.5; this chain's own is 5": [{"chi": 0}],
        r"bond 6 lies outside 1\.\.5": [{"chi": 6}],
        "a tolerance is a relative error of at least 0, not -1": [{"tolerance": -1.0}],
        "a chain of T = 0 words holds nothing": [{"chi": 2, "length": 0}],
        "metric is one of paper, data, not 'dta'": [{"chi": 2, "metric": "dta"}],
    }
    for sentence, several in cases.items():
        for arguments in several:
            with pytest.raises(UserError, match=sentence):
                model.compress(**arguments)


def test_law_the_old_model_stays_as_it_was() -> None:
    model = racs.model()
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    found = model.compress(2)
    assert isinstance(found, Smaller)
    with torch.no_grad():
        for weight in found.model.network.parameters():
            weight.zero_()
    for name, value in model.network.state_dict().items():
        assert_close(value, before[name], rtol=0, atol=0)


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_law_a_larger_model_is_told(classes: int) -> None:
    """At which sizes an automaton has fewer weights than the circuit, by counting those of all of them."""
    model = racs.model(classes, features=7, bond=6)
    found = [model.compress(chi) for chi in range(1, 8)]
    counts = [sum(w.numel() for n, w in one.model.network.named_parameters() if "words" not in n) for one in found]
    of = sum(weight.numel() for name, weight in model.network.named_parameters() if "token" not in name)
    assert [(one.weights, one.of_weights) for one in found] == [(count, of) for count in counts]
    fewer = max((chi for chi, count in enumerate(counts, 1) if count < of), default=0)
    assert {one.fewer for one in found} == {fewer} and 1 <= fewer < 7
    assert [bool(one.warning) for one in found] == [count >= of for count in counts]
    assert f"({counts[-1]:,} weights for {of:,})" in found[-1].warning
    assert f"up to {fewer} numbers (chi) have fewer" in found[-1].warning


def test_known_of_any_circuit_some_size_has_fewer_weights() -> None:
    found = racs.model(bond=1, features=3).compress(2)
    assert (found.fewer, found.weights, found.of_weights) == (1, 24, 12)
