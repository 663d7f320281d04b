"""An explained text against brute force: every set of words, every other word in every place, the network itself."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import racs
from psitext.errors import UserError
from psitext.model import Model
from psitext.model.mps.reading import circuit_of
from psitext.text.examples import Example
from psitext.text.supervised import TextConfig

PADS = ["none", "word", "zero"]
TEXT = "Not a fine zebra film"


def value(model: Model, words: list[Tensor]) -> np.ndarray:
    """(K,) by the recurrence as it stands, fillers in front, in double."""
    circuit = circuit_of(model)
    if circuit.filler is not None:
        words = [circuit.filler] * (circuit.steps - len(words)) + words
    h = torch.zeros(len(circuit.hidden), dtype=torch.float64)
    for word in words:
        h = (circuit.hidden @ h + circuit.hidden_bias) * (circuit.inputs @ word + circuit.input_bias)
    return (circuit.readout @ torch.cat([h, h.new_ones(1)])).numpy()


def vectors(model: Model, text: str) -> list[Tensor]:
    ids = model.tokenizer.encode([text])[0]
    return list(circuit_of(model).vectors[torch.from_numpy(ids[ids != model.tokenizer.unk]).long()])


def instead(model: Model, baseline: str) -> Tensor:
    circuit = circuit_of(model)
    if baseline == "mean":
        assert circuit.law is not None
        return circuit.law.mean_word(circuit.vectors)
    return torch.zeros(3, dtype=torch.float64) if baseline == "zero" or circuit.filler is None else circuit.filler


@pytest.mark.parametrize(
    "pad, baseline", [*itertools.product(PADS, ["mean", "zero"]), ("word", "pad"), ("zero", "pad")]
)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_parity_of_shapley_values_with_every_set_of_words(classes: int, pad: str, baseline: str) -> None:
    model = racs.model(classes, pad=pad)
    found = model.explain(TEXT, baseline=baseline)
    words, other = vectors(model, TEXT), instead(model, baseline)
    n = len(words)
    assert found.words == ("Not", "a", "fine", "film") and found.unknown == ("zebra",)

    def game(there: set[int]) -> np.ndarray:
        return value(model, [word if t in there else other for t, word in enumerate(words)])

    everyone = set(range(n))
    expected = np.zeros_like(found.shapley.numpy())
    for t in range(n):
        for size in range(n):
            share = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            for some in itertools.combinations(sorted(everyone - {t}), size):
                expected[:, t] += share * (game({*some, t}) - game(set(some)))
    np.testing.assert_allclose(found.shapley, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.logits, game(everyone), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(found.nothing, game(set()), rtol=1e-11, atol=1e-12)
    assert_close(found.shapley.sum(1), found.logits - found.nothing, rtol=1e-10, atol=1e-10)
    without = np.stack([game(everyone - {t}) - game(everyone) for t in range(n)], axis=1)
    np.testing.assert_allclose(found.leave_one_out, without, rtol=1e-9, atol=1e-11)
    if baseline == "pad":  # a text of fillers is a text without words
        np.testing.assert_allclose(found.nothing, value(model, []), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_law_the_answer_is_the_model_s_own(classes: int, pad: str) -> None:
    model = racs.model(classes, pad=pad)
    found = model.explain(TEXT)
    answer, prior = model.predict([TEXT, ""])
    assert (found.answer, found.prior) == (answer, prior)
    (logits,) = model.logits([Example(TEXT)])
    ours = found.logits.numpy()
    expected = logits[1:] - logits[:1] if classes == 2 else logits
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("pad", ["none", "word"])
@pytest.mark.parametrize("classes", [2, 3])
def test_parity_of_flips_with_every_other_word(classes: int, pad: str) -> None:
    model = racs.model(classes, pad=pad, seed=4)  # one whose decisions can be turned
    labels = racs.LABELS[classes]
    names = model.tokenizer.tokens(range(model.tokenizer.vocab_size))
    assert model.law is not None
    known = [name for name, count in zip(names, model.law.words, strict=True) if count]
    words = ["a", "fine", "film"]
    was = model.predict([" ".join(words)])[0].label
    cases = []
    for place in range(3):
        for name in known:
            text = " ".join([*words[:place], name, *words[place + 1 :]])
            (answer,), (logits,) = model.predict([text]), model.logits([Example(text)])
            margin = max(value for label, value in zip(labels, logits, strict=True) if label != was)
            cases.append((float(margin - logits[labels.index(was)]), place, name, answer))
    turned = sorted((case for case in cases if case[0] > 0), key=lambda case: -case[0])
    found = model.explain(" ".join(words), top=100).flips
    assert len(found) == len(turned) > 0
    assert {(one.place, one.instead) for one in found} == {(place, name) for _, place, name, _ in turned}
    for one, (_, _, _, answer) in zip(found[:3], turned, strict=False):
        assert one.label == answer.label != was
        assert one.probability == pytest.approx(answer.probability, abs=1e-4)
        assert one.word == words[one.place]
    assert model.explain(" ".join(words), top=2).flips == found[:2]


def test_known_a_score_has_no_decision_to_turn() -> None:
    found = racs.model(1).explain("a fine film")
    assert found.flips == () and found.says == ("the score",) and isinstance(found.answer.label, float)


def test_law_words_that_no_text_had_are_not_put_in() -> None:
    model = racs.model(seed=4)
    assert model.law is not None
    some = {one.instead for one in model.explain("a fine film", top=500).flips}
    wide = replace(model, law=None)
    more = {one.instead for one in wide.explain("a fine film", top=500).flips}
    names = model.tokenizer.tokens(range(model.tokenizer.vocab_size))
    read = {name for name, count in zip(names, model.law.words, strict=True) if count}
    assert some and some <= read and some <= more
    assert not more & {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"}


@pytest.mark.parametrize("metric", ["paper", "data"])
@pytest.mark.parametrize("pad", ["none", "word"])
def test_parity_of_the_map_with_the_state(pad: str, metric: str) -> None:
    """Its first row is the profile of so many words, behind the fillers."""
    model = racs.model(pad=pad)
    found = model.explain("a fine film not odd", metric=metric)
    bits = found.entanglement_bits
    assert bits.shape == (4, 4)
    assert torch.equal(bits.isnan(), torch.ones(4, 4).tril(-1).bool())
    chain = circuit_of(model).chain(5)
    if pad == "none":
        assert_close(bits[0], model.to_mps(length=5, metric=metric).entropy_bits(), rtol=0, atol=1e-9)
    else:
        circuit = circuit_of(model)
        assert circuit.filler is not None
        first, step = chain.first, chain.inputs @ torch.cat([circuit.filler, circuit.filler.new_ones(1)])
        for _ in range(circuit.steps - 5):
            first = step * (chain.hidden @ first)
        held = model.to_mps(length=5)
        root = circuit.word_root if metric == "data" else torch.eye(4, dtype=torch.float64)
        behind = replace(held, chain=replace(chain, first=first), roots=(root,) * 5)
        assert_close(bits[0], behind.entropy_bits(), rtol=0, atol=1e-9)


def test_known_words_as_the_text_spells_them() -> None:
    kept = racs.model(unknown="keep")
    found = kept.explain("A  FINE zebra")
    assert found.words == ("A", "FINE", "zebra") and found.unknown == ("zebra",)
    found = racs.model().explain("odd " * 9 + "a zebra fine film")
    assert found.words == ("odd",) * 9 + ("a",) and found.cut == 2 and found.answer.cut
    last = replace(racs.model(), text=TextConfig(max_len=12, unknown="drop", keep="last"))
    found = last.explain("odd " * 9 + "a zebra fine film")
    assert found.words == ("odd",) * 7 + ("a", "fine", "film") and found.cut == 2


@pytest.mark.parametrize("pad", PADS)
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_known_without_a_known_word_the_prior_is_all(classes: int, pad: str) -> None:
    model = racs.model(classes, pad=pad)
    found = model.explain("zebra zebra!")
    assert found.words == () and found.unknown[:2] == ("zebra", "zebra")
    assert found.answer == found.prior
    np.testing.assert_allclose(found.logits, value(model, []), rtol=1e-11, atol=1e-12)
    assert torch.equal(found.logits, found.nothing)
    assert found.shapley.shape == found.leave_one_out.shape == (len(found.says), 0)
    assert found.flips == () and found.entanglement_bits.shape == (0, 0)
    json.dumps(found.record(), allow_nan=False)


def test_law_the_record_is_json() -> None:
    for text in ("fine", "a fine film"):
        found = racs.model(3).explain(text)
        record = json.loads(json.dumps(found.record(), allow_nan=False))
        assert [one["shapley"] for one in record["closings"]] == found.shapley.tolist()
        assert [one["what"] for one in record["closings"]] == list(found.says)
        assert len(record["entanglement_bits"]) == len(found.words) - 1
        assert found.says[found.shown].endswith(str(found.answer.label))


def test_known_defaults_without_a_law() -> None:
    found = racs.model(law=False).explain("fine")
    assert (found.baseline, found.metric) == ("zero", "paper")
    found = racs.model(law=False).explain("fine", texts=["a fine film"])
    assert (found.baseline, found.metric) == ("mean", "data")


def test_known_the_map_is_made_where_it_is_asked_for() -> None:
    with_it, without = (racs.model().explain("a fine film", entanglement=wanted) for wanted in (True, False))
    assert with_it.entanglement_bits.shape == (2, 2) and without.entanglement_bits.shape == (0, 0)
    assert torch.equal(with_it.shapley, without.shapley) and with_it.flips == without.flips


def test_known_what_is_refused() -> None:
    model = racs.model()
    cases = {
        "the text is empty; there is no word to explain": {"text": "  "},
        "a text to explain is a string, not a list": {"text": ["fine"]},
        "the number of substitutions to show is at least 1, not 0": {"top": 0},
        r"baseline is one of mean, zero, pad, not 'man'; did you mean 'mean'\?": {"baseline": "man"},
        "this model fills no texts, so it has no padding to take for a baseline": {"baseline": "pad"},
        "metric is one of paper, data, not 'dat'": {"metric": "dat"},
    }
    for sentence, arguments in cases.items():
        with pytest.raises(UserError, match=sentence):
            model.explain(**{"text": "fine", **arguments})
    lawless = racs.model(law=False)
    for arguments in ({"baseline": "mean"}, {"metric": "data", "text": "fine film"}):
        with pytest.raises(UserError, match="does not hold the law of its words"):
            lawless.explain(**{"text": "fine", **arguments})
    pairs = replace(model, task=racs.task(pair="second"))
    with pytest.raises(UserError, match="this model was trained on pairs of texts"):
        pairs.explain("fine")


def test_law_the_record_s_probabilities_are_those_of_values_over_the_temperature() -> None:
    found = replace(racs.model(), temperature=0.5).explain("not a fine film")
    record = found.record()
    assert record["temperature"] == 0.5
    odds = record["closings"][0]["value"] / record["temperature"]
    assert record["answer"]["probabilities"]["good"] == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-5)
