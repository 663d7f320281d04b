"""Encoders as ONNX files: used without psitext, equal to the model, refused where they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kets
import racs
import tiny
import vaes
from psitext.assemble import build_encoder, build_head
from psitext.baselines.recurrent import RecurrentConfig
from psitext.errors import UserError
from psitext.experiments.export import checks, onnx, plain, to_onnx
from psitext.experiments.export.graph import Graph
from psitext.heads.affine import AffineConfig
from psitext.heads.modulus import ModulusConfig
from psitext.model import TEXT, Model, Sentences, load
from psitext.text.examples import Task
from psitext.text.supervised import TextConfig, encode_examples
from psitext.text.tokenizer import train
from psitext.train.network import Network

needs_onnx = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("onnx", "onnxruntime", "onnxscript")), reason="needs psitext[onnx]"
)
WORDS = train("words", [*kets.TEXTS, onnx.USUAL, onnx.SHORT], tiny.VOCAB)


def model(encoder: torch.nn.Module, kind: str | None = None, pair: str | None = None, **text: Any) -> Model:
    """An encoder without a head, or with an untrained one whose weights are large enough to matter."""
    settings = TextConfig(max_len=16, **text)
    if kind is None:
        return Model(Network(encoder, Sentences()).eval(), {TEXT: WORDS}, settings)
    labels = ("a", "b", "c") if kind in ("classification", "tagging") else ()
    task = Task(name="t", kind=kind, text="text", pair=pair, label="label", labels=labels, metrics=())  # type: ignore[arg-type]
    family = encoder.config.family  # type: ignore[union-attr]
    config = ModulusConfig() if family == "cvbert" else AffineConfig()
    head = build_head(task, encoder, config)  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(0)))
    return Model(Network(encoder, head).eval(), {TEXT: WORDS}, settings, config, task)


def complex_model(name: str, kind: str | None = None, **changes: Any) -> Model:
    return model(tiny.qbert(tiny.COMPLEX[name], **changes).float(), kind)


CASES = {
    "bert of pairs": lambda: model(tiny.bert(layers=1), "classification", pair="second"),
    "mean of bert": lambda: model(tiny.bert(pool="mean")),
    "tags": lambda: model(tiny.bert(), "tagging"),
    "answers": lambda: model(tiny.bert(), "span", pair="passage"),
    "qbert": lambda: complex_model("qbert"),
    "qbert as published": lambda: complex_model("qbert as published"),
    "split scores": lambda: complex_model("qbert", "tagging", score="split"),
    "cvbert's score": lambda: complex_model("cvbert", "regression"),
    "widely linear": lambda: complex_model("widely-linear"),
    "qcls": lambda: model(build_encoder(tiny.QCLS)),
    "measurement": lambda: kets.model(24),
    "circuit": lambda: kets.model(24, classes=3, unitary="circuit", groups=4),
    "rac": racs.model,
    "rac that is filled up": lambda: racs.model(3, pad="word", unknown="keep"),
    "deep rac": lambda: racs.model(1, layers=2, pad="zero"),
    "space": lambda: load(vaes.space()),
}


@pytest.mark.parametrize("name", CASES)
def test_parity_the_graph_is_the_model(name: str) -> None:
    """Before anything is traced: every output, on rows of several lengths."""
    found = CASES[name]()
    read = onnx._examples(found)
    source = encode_examples(read, found.task or onnx.PLAIN, found.tokenizer, found.text, labelled=False)
    batch = source.build(np.arange(len(read)))
    with torch.inference_mode():
        named = Graph(found).named(batch.ids, (batch.owner > 0).long(), batch.segments)
    expected = onnx._expected(found, read)
    assert named.keys() == expected.keys()
    for output, right in expected.items():
        ours = named[output].numpy()
        there = ~np.isnan(right) if output in onnx.PER_TOKEN else np.ones(right.shape, dtype=bool)
        np.testing.assert_allclose(ours[there], right[there], rtol=2e-5, atol=2e-5)


def test_parity_a_long_text_keeps_its_scale() -> None:
    """Beyond a hundred words states carry powers of two; the plain scan finds the same ones."""
    found = racs.model(layers=2, max_len=140, unknown="keep")
    with torch.no_grad():
        for cell in found.encoder.cells:  # type: ignore[union-attr]
            cell.hidden.mul_(0.2)
    examples = onnx._examples(found)
    expected = onnx._expected(found, examples)
    batch = found.source(examples, labelled=False).build(np.arange(len(examples)))
    with torch.inference_mode():
        named = Graph(found).named(batch.ids, (batch.owner > 0).long())
    for output, right in expected.items():
        np.testing.assert_allclose(named[output].numpy(), right, rtol=1e-4, atol=1e-5)


@needs_onnx
@pytest.mark.parametrize("name", ["bert of pairs", "rac", "qcls"])
def test_parity_onnxruntime_and_tokenizers_alone(name: str, tmp_path: Path) -> None:
    """In an interpreter that never loads psitext or torch."""
    found = CASES[name]()
    assert " apart (0.001 is the limit)" in to_onnx(found, tmp_path / "out")
    about = json.loads((tmp_path / "out" / "psitext.json").read_text(encoding="utf-8"))
    assert about["opset"] == 18 and about["largest_difference"] < 1e-5 and about["max_len"] == found.text.max_len
    pairs = about["inputs"].keys() >= {"token_type_ids"} and found.task is not None
    texts = ["a dull film", "the cast is odd, and the plot", ""][: 2 if pairs else 3]
    seconds = ["fine", "the plot is thin"] if pairs else None
    (tmp_path / "texts.json").write_text(json.dumps([texts, seconds]))
    done = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    with np.load(tmp_path / "found.npz") as arrays:
        outputs = dict(arrays)
    assert outputs.keys() == about["outputs"].keys()
    state = found.encode(texts, seconds)
    vector = outputs["state"] if "state" in outputs else outputs["state_re"] + 1j * outputs["state_im"]
    if name == "rac":  # encode keeps the ray
        vector, right = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (vector, state.numpy()))
    else:
        right = state.numpy()
    np.testing.assert_allclose(vector, right, atol=1e-5)
    if found.task is not None:
        logits = outputs["logits"] / about["temperature"]
        best = [about["labels"][at] for at in logits.argmax(1)]
        assert best == [answer.label for answer in found.predict(texts, seconds)]


ALONE = """
import json, sys
from pathlib import Path
import numpy as np, onnxruntime, tokenizers
folder = Path(sys.argv[1])
texts, seconds = json.loads((folder / "texts.json").read_text())
tokenizer = tokenizers.Tokenizer.from_file(str(folder / "out" / "tokenizer.json"))
rows = tokenizer.encode_batch(texts if seconds is None else list(zip(texts, seconds)))
session = onnxruntime.InferenceSession(str(folder / "out" / "model.onnx"))
fields = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
names = [one.name for one in session.get_inputs()]
fed = {name: np.array([getattr(row, fields[name]) for row in rows], dtype=np.int64) for name in names}
outputs = [one.name for one in session.get_outputs()]
np.savez(folder / "found.npz", **dict(zip(outputs, session.run(None, fed))))
assert not {"psitext", "torch", "transformers"} & sys.modules.keys()
"""


@needs_onnx
def test_known_weights_beside_the_graph_and_a_second_export(tmp_path: Path) -> None:
    """More weights than one file takes lie in another; an older export is replaced, anything else is not."""
    found = model(build_encoder(tiny.QCLS))
    to_onnx(found, tmp_path / "out", one_file=100)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"model.onnx", "model.onnx.data", "tokenizer.json", "psitext.json"} <= names
    before = onnx.run_folder(tmp_path / "out", ["a dull film"])
    (tmp_path / "out").rename(tmp_path / "moved")
    after = onnx.run_folder(tmp_path / "moved", ["a dull film"])
    assert all(np.array_equal(after[name], value) for name, value in before.items())
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(UserError, match="holds something else than an ONNX export"):
        to_onnx(found, tmp_path / "mine")


@needs_onnx
def test_law_a_file_that_is_off_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def off(*args: object) -> onnx.Arrays:
        return {name: value + 0.01 for name, value in right(*args).items()}  # type: ignore[arg-type]

    right = onnx._expected
    monkeypatch.setattr(onnx, "_expected", off)
    with pytest.raises(UserError, match=r"what model.onnx computes is 0.01 away from the model, more than 0.001"):
        to_onnx(model(build_encoder(tiny.QCLS)), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_known_what_has_no_such_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recurrent = build_encoder(RecurrentConfig(vocab_size=tiny.VOCAB, features=3, max_len=16, width=8))
    with pytest.raises(UserError, match="a recurrent encoder has no ONNX form; those of bert, qbert, "):
        Graph(model(recurrent))
    with pytest.raises(UserError, match="leaves unknown words out"):
        Graph(model(tiny.bert(), unknown="drop"))
    monkeypatch.setattr(checks, "find_spec", lambda name: None if name == "onnxruntime" else object())
    with pytest.raises(UserError, match=r"ONNX files need onnxruntime: pip install 'psitext\[onnx\]'"):
        to_onnx(model(tiny.bert()), tmp_path / "out")


def test_law_plain_layers_share_the_parameters_and_leave_the_encoder_as_it_was() -> None:
    encoder = tiny.qbert()
    kinds = [type(part) for part in encoder.modules()]
    found = plain.PlainQbert(encoder)
    assert [type(part) for part in encoder.modules()] == kinds
    assert {id(one) for one in found.parameters()} == {id(one) for one in encoder.parameters()}
