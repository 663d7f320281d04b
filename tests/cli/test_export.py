"""`psitext export`: every form through one door, and what it refuses before anything is written."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import door
import kets
import racs
import tiny
from psitext.assemble import build_encoder
from psitext.cli.export import command
from psitext.encoders.bert import BertConfig
from psitext.experiments.export import EXPORTS, PLACES, TENSORS
from psitext.model import TEXT, Model, Sentences, load
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train
from psitext.train.network import Network


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a circuit, a measurement head, and a BERT that has neither."""
    folder = tmp_path_factory.mktemp("export")
    racs.model().save(folder / "rac")
    kets.model(4, unitary="circuit", heads=2).save(folder / "measured")
    words = train("words", kets.TEXTS, tiny.VOCAB)
    shape = BertConfig(vocab_size=words.vocab_size, width=8, layers=1, heads=2, hidden=8, max_len=16)
    bare = Network(build_encoder(shape), Sentences()).eval()
    Model(bare, {TEXT: words}, TextConfig(max_len=16), facts={"name": "bare"}).save(folder / "bert")
    return folder


@pytest.mark.skipif(not find_spec("qiskit_aer"), reason="needs psitext[quantum]")
@pytest.mark.parametrize("text", [[], ["--text", "a dull film"]])
def test_law_both_doors_to_a_circuit_file_write_the_same(place: Path, text: list[str]) -> None:
    one = door.run("export", "measured", "--to", "qasm3", "-o", "one.qasm", *text, cwd=place)
    other = door.run("circuit", "export", "measured", "--to", "qasm3", "-o", "other.qasm", *text, cwd=place)
    assert (one.code, one.out, one.err) == (0, "written: one.qasm\n", "") and other.code == 0
    written = (place / "one.qasm").read_bytes()
    assert written == (place / "other.qasm").read_bytes() and b"OPENQASM 3" in written
    (place / "one.qasm").unlink()


@pytest.mark.skipif(not find_spec("onnxruntime") or not find_spec("onnxscript"), reason="needs psitext[onnx]")
def test_known_an_onnx_folder_says_how_far_it_is_from_the_model(place: Path) -> None:
    done = door.run("export", "bert", "--to", "onnx", "-o", "out", cwd=place)
    assert (done.code, done.err) == (0, ""), done
    first, second = done.out.splitlines()
    assert first == "written: out" and second.startswith("onnxruntime against the model on texts of several lengths: ")
    about = json.loads((place / "out" / "psitext.json").read_text(encoding="utf-8"))
    assert about["outputs"] == {"state": ["batch", 8]} and f"{about['largest_difference']:.2g} apart" in second


@pytest.mark.parametrize("name", ["bert", "rac", "measured"])
def test_known_a_sentence_s_ket_of_any_family(place: Path, name: str) -> None:
    done = door.run("export", name, "--to", "numpy", "--text", "a dull film", "-o", "ket.npz", cwd=place)
    assert (done.code, done.err) == (0, ""), done
    first, second, lines = done.out.split("\n", 2)
    assert first == "written: ket.npz" and second.startswith("a ket of ") and second.endswith("fidelity 1.0000")
    names: dict[str, Any] = {}
    exec(lines.replace("ket.npz", str(place / "ket.npz")), names)
    exact = load(place / name).encode(["a dull film"]).amplitudes()[0].numpy()
    np.testing.assert_allclose(names["ket"], exact, atol=1e-9)
    (place / "ket.npz").unlink()


def test_known_a_law_s_column_is_no_sentence(place: Path) -> None:
    (place / "texts.csv").write_text("review\na fine film\n")
    options = "--to numpy --metric data --law texts.csv --text review -o law.npz"
    done = door.run("export", "rac", *options.split(), cwd=place)
    assert (done.code, done.err) == (0, ""), done
    assert (
        load(place / "rac").to_mps(metric="data", texts=["a fine film"]).to_numpy().keys()
        <= np.load(place / "law.npz").keys()
    )
    (place / "law.npz").unlink()


def test_law_the_forms_are_the_writers() -> None:
    assert command.FOLDERS == tuple(EXPORTS) == tuple(PLACES) and tuple(TENSORS) == command.TENSORS


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        ("bert --to quimb --text film --bond 0 -o x.npz", "--bond 0 holds nothing; 1 is a product state"),
        ("bert --to quimb --bond 2 -o x.npz", "--bond is that of a sentence's ket: give the sentence with --text"),
        ("bert --to onnx --text film -o x", "--text is for circuit files and matrix product states, not onnx"),
        ("rac --to quimb --text film --length 3 -o x.npz", "states of models, not the ket of a text"),
        ("bert --to qasm3 -o x.qasm", "this model's head is no measurement, and so no circuit"),
        ("bert --to onyx -o x", "cannot export to 'onyx'; did you mean 'onnx'?"),
        ("bert --to onnx", "name a folder with -o"),
        ("bert --to qasm3", "name a file with -o"),
        ("rac --to hf -o x", "transformers has no rac; a BERT, a GPT-2 or a Llama can be written for it"),
        ("bert --to quimb -o x.npz", "recurrent"),
        ("bert --to onnx -o x --length 3", "--length, --closing, --metric, --label and --law are for matrix product"),
        ("measured --to qasm3 -o x.qasm --metric data", "are for matrix product states of models, not qasm3"),
        ("bert --to onnx -o rac", "rac holds something else than an ONNX export; name another folder"),
    ],
)
def test_known_what_is_refused(place: Path, arguments: str, sentence: str) -> None:
    before = sorted(path.name for path in place.iterdir())
    done = door.run("export", *arguments.split(), cwd=place)
    assert (done.code, done.out) == (2, ""), done
    assert sentence in done.err and done.err.count("\n") == 1
    assert sorted(path.name for path in place.iterdir()) == before
