"""The circuit in a model: it says what the model says, and models without one are refused with the reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import racs
import toys
from psitext.assemble import build_head
from psitext.errors import UserError
from psitext.experiments.finetune import finetune_run
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.explain.mps.chain import contract
from psitext.heads.measurement import MeasurementConfig
from psitext.model import Model, Sentences, load
from psitext.model.mps.reading import Circuit, circuit_of
from psitext.text.examples import Example
from psitext.train.network import Network

WORDS = ["a", "fine", "film", "not", "odd"]


def vectors(model: Model, circuit: Circuit, text: str) -> Tensor:
    """Phi~ of a text as the network reads it, fillers in front: (1, T, p)."""
    ids = model.tokenizer.encode([text])[0].tolist()
    rows = circuit.vectors[ids]
    if circuit.filler is not None:
        rows = torch.cat([circuit.filler.expand(circuit.steps - len(rows), -1), rows])
    return torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)[None]


@pytest.mark.parametrize("pad", ["none", "word", "zero"])
@pytest.mark.parametrize("classes", [1, 2, 3])
def test_parity_a_closed_chain_says_what_the_model_says(classes: int, pad: str) -> None:
    model = racs.model(classes, pad=pad)
    circuit = circuit_of(model)
    for count in (1, 3, 5):
        text = " ".join(WORDS[:count])
        phi = vectors(model, circuit, text)
        (logits,) = model.logits([Example(text)]).astype(np.float64)
        for label in racs.LABELS[classes] or (None,):
            mantissa, log_scale = contract(circuit.chain(phi.shape[1], "readout", label), phi)
            value = float(mantissa * log_scale.exp())
            at = 0 if label is None else racs.LABELS[classes].index(label)
            expected = logits[at] - logits[1 - at] if classes == 2 else logits[at]
            assert value == pytest.approx(expected, rel=1e-4, abs=1e-4)
    bond = model.encode([text])
    mantissa, log_scale = contract(circuit.chain(phi.shape[1], "ones"), phi)
    assert_close(mantissa * log_scale.exp(), bond.vector.double().sum(1), rtol=1e-4, atol=1e-4)


def test_known_two_classes_have_one_closing_and_more_one_each() -> None:
    two, three = circuit_of(racs.model(2)), circuit_of(racs.model(3))
    assert two.says == ("the log-odds of good against bad",)
    assert two.closing("readout", "bad")[1] == "the log-odds of bad against good"
    assert torch.equal(two.chain(5, "readout", "bad").last, -two.chain(5).last)
    assert torch.equal(two.chain(5, "readout", "good").last, two.chain(5).last)
    assert two.whole(5).last.shape == (1, 5) and three.whole(5).last.shape == (3, 5)
    assert three.says == ("the logit of bad", "the logit of fair", "the logit of good")
    assert circuit_of(racs.model(1)).says == ("the score",)
    assert torch.equal(two.chain(5, "ones").last, torch.ones(5, dtype=torch.float64))


def test_known_the_usual_length() -> None:
    assert circuit_of(racs.model(max_len=402)).usual_length == 50
    assert circuit_of(racs.model(max_len=12)).usual_length == 10
    assert circuit_of(racs.model(max_len=402, pad="word")).usual_length == 400


def test_law_texts_make_another_law() -> None:
    model = racs.model()
    own, other = circuit_of(model), circuit_of(model, ["odd odd zebra"])
    assert other.law is not None and own.law is not None
    assert int(other.law.words.sum()) == 2 and int(own.law.words.sum()) > 20
    assert circuit_of(racs.model(law=False)).law is None
    for texts, sentence in ((["zebra"], "hold no word that the model knows"), ([], "list of texts, at least one")):
        with pytest.raises(UserError, match=sentence):
            circuit_of(model, texts)


def measured(model: Model) -> Model:
    head = build_head(racs.task(), model.encoder, MeasurementConfig())
    return replace(model, network=Network(model.encoder, head), head=MeasurementConfig())


def test_law_a_head_that_is_not_linear_closes_with_ones_only() -> None:
    circuit = circuit_of(measured(racs.model()))
    assert circuit.chain(5, "ones").length == 5
    with pytest.raises(UserError, match="the head of this model is not affine"):
        circuit.chain(5)
    bare = replace(racs.model(), network=Network(racs.model().encoder, Sentences()), head=None, task=None)
    with pytest.raises(UserError, match="the head of this model is not affine"):
        circuit_of(bare).chain(5)


def other_family() -> Model:
    return load(toys.trained("words"))


def automaton() -> Model:
    return racs.model().compress(chi=3).model


def nan(name: str) -> Model:
    model = racs.model()
    weights = dict(model.network.named_parameters())
    return racs.with_weights(model, **{name: weights[name] * torch.nan})


REFUSED = {
    "this model is a bert; only a recurrent arithmetic circuit": other_family,
    "this model is an automaton, which is what compress makes of a circuit": automaton,
    "a circuit of 2 layers is not linear in every word": lambda: racs.model(layers=2),
    "a circuit without biases stays at h = 0": lambda: racs.model(biases=False),
    "W_H of this model is not finite: its training diverged": lambda: nan("encoder.cells.0.hidden"),
    "a word vector of this model is not finite": lambda: nan("encoder.words.token.weight"),
    "the read-out of this model is not finite": lambda: nan("head.output.weight"),
}


@pytest.mark.parametrize("sentence", REFUSED)
def test_law_models_without_a_state_are_refused_with_the_reason(sentence: str) -> None:
    model = REFUSED[sentence]()
    for use in (model.to_mps, lambda: model.explain("fine"), lambda: model.compress(2)):
        with pytest.raises(UserError, match=sentence):
            use()


def test_known_wrong_names() -> None:
    model = racs.model(3)
    cases = {
        "closing is one of readout, ones, not 'one'; did you mean 'ones'": {"closing": "one"},
        "metric is one of paper, data, not 'date'; did you mean 'data'": {"metric": "date", "closing": "ones"},
        r"'god' is no label of this model; did you mean 'good'\?": {"label": "god"},
        "this model has 3 classes, and each has a logit of its own; name a label": {},
        "a chain that is closed with ones belongs to no label": {"closing": "ones", "label": "good"},
        "a chain of T = 0 words holds nothing": {"closing": "ones", "length": 0},
    }
    for sentence, arguments in cases.items():
        with pytest.raises(UserError, match=sentence):
            model.to_mps(**arguments)
    with pytest.raises(UserError, match="'x' is no label of this model; it has none"):
        racs.model(1).to_mps(label="x")
    for use in (lambda: model.to_mps(closing="ones", metric="data"), lambda: model.compress(2, metric="data")):
        assert use() is not None
    lawless = racs.model(law=False)
    for use in (lambda: lawless.to_mps(metric="data"), lambda: lawless.compress(2, metric="data")):
        with pytest.raises(UserError, match="this model does not hold the law of its words"):
            use()


def test_law_the_law_is_saved_with_the_model(tmp_path: Path) -> None:
    model = racs.model()
    again = load(model.save(tmp_path / "model"))
    assert again.law is not None and model.law is not None
    assert torch.equal(again.law.words, model.law.words) and torch.equal(again.law.lengths, model.law.lengths)
    assert torch.equal(again.to_mps(metric="data").entropy_bits(), model.to_mps(metric="data").entropy_bits())
    assert load(racs.model(law=False).save(tmp_path / "lawless")).law is None
    (tmp_path / "model" / "law.safetensors").unlink()
    with pytest.raises(UserError, match=r"law\.safetensors is missing"):
        load(tmp_path / "model")


def test_known_fine_tuning_counts_its_words(tmp_path: Path) -> None:
    table = toys.table(tmp_path / "texts.csv", [("text", "label"), *toys.words_and_labels(60)])
    given = {
        "encoder": {"family": "rac", "features": 3, "bond": 3, "max_len": 10},
        "tokenizer": {"kind": "words", "vocab_size": 40},
        "data": {"train": str(table)},
        "train": {"steps": 2, "batch_sequences": 8},
    }
    model = finetune_run(FinetuneRecipe(**given), tmp_path / "run")
    assert model.law is not None
    assert model.law.lengths.tolist() == [0, 0, 54]  # a tenth of 60 texts of two words is held out
    assert int(model.law.words.sum()) == 108
    assert load(tmp_path / "run").law is not None
    small = model.compress(2).model.save(tmp_path / "small")
    again = finetune_run(FinetuneRecipe(**{**given, "encoder": None, "init": str(small)}), tmp_path / "again")
    assert again.encoder.config.family == "automaton" and again.law is not None
