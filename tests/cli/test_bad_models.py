"""Models that a user may hold in hand and that answer nothing: one sentence, exit 2, and nothing written.

Circuits and complex models; files and recipes that are wrong stand in test_bad_input.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import door
import racs
import tellers
import tiny
from psitext.assemble import HeadConfig, build_head
from psitext.heads.measurement import MeasurementConfig
from psitext.heads.modulus import ModulusConfig
from psitext.model import TEXT, Model, Sentences, load
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network


def complex_model(head: HeadConfig, factor: float = 1.0) -> Model:
    """A small QBERT that answers, with all weights of its encoder times ``factor``."""
    encoder, task = tiny.qbert().float(), racs.task()
    with torch.no_grad():
        for weight in encoder.parameters():
            weight.mul_(factor)
    network = Network(encoder, build_head(task, encoder, head)).eval()
    reads = train_tokenizer("words", racs.TEXTS, tiny.VOCAB)
    return Model(network, {TEXT: reads}, TextConfig(max_len=16), head, task)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    circuit = racs.model()
    circuit.save(folder / "rac")
    racs.with_weights(circuit, hidden=torch.full((4, 4), float("nan"))).save(folder / "rac-nan")
    racs.model(3).save(folder / "rac-three")
    racs.model(layers=2).save(folder / "rac-deep")
    complex_model(MeasurementConfig()).save(folder / "qbert")
    complex_model(ModulusConfig()).save(folder / "modulus")
    complex_model(MeasurementConfig(), 0.0).save(folder / "qbert-zero")
    complex_model(MeasurementConfig(), float("nan")).save(folder / "qbert-nan")
    bert = tiny.bert()
    with torch.no_grad():
        bert.token.weight.fill_(float("nan"))
    words = train_tokenizer("words", racs.TEXTS, tiny.VOCAB)
    Model(Network(bert, Sentences()).eval(), {TEXT: words}, TextConfig(max_len=16)).save(folder / "bert-nan")
    for name, part, config in (
        ("head-nan", "turn", MeasurementConfig()),
        ("gates-nan", "turn", MeasurementConfig(unitary="circuit")),
        ("read-nan", "output", MeasurementConfig()),
    ):
        damaged = complex_model(config)
        with torch.no_grad():
            for weight in getattr(damaged.network.head, part).parameters():
                weight.fill_(float("nan"))
        damaged.save(folder / name)
    for name, model in (("space-nan", tellers.space()), ("lm-nan", tellers.language_model())):
        model.save(folder / name)
        damaged = load(folder / name)
        with torch.no_grad():
            for weight in damaged.network.head.parameters():
                weight.fill_(float("nan"))
        damaged.save(folder / name)
    rows = "".join(f"a fine film,{label}\n" for label in ("good", "bad") * 10)
    (folder / "rows.csv").write_text(f"text,label\n{rows}")
    (folder / "other.qasm").write_text("OPENQASM 3.0;\n")
    return folder


COMMANDS = {
    # Of a sweep and of training a circuit.
    "sweep rac --task toy-sentiment --chi 0": "bond dimensions from 1",
    "sweep rac --task toy-sentiment --set steps=0": "sets steps to 0",
    "sweep rac --task stsb": "a sweep takes a task of two classes, and stsb is none",
    "sweep bert --task toy-sentiment": "ENCODER is one of rac",
    "finetune --encoder rac --data rows.csv --set encoder.bond=0": "sets encoder.bond to 0",
    "finetune --encoder rac --data rows.csv --set encoder.max_len=2": "sets encoder.max_len to 2",
    "finetune --encoder rac --data rows.csv --set train.optim.lr=1e6 --out far": "it has diverged",
    "finetune --encoder rac --data rows.csv --words nowhere": "there is no model at nowhere",
    # Weights that are no numbers.
    "generate sample -m space-nan": "the scores of the next word are not finite",
    "generate sample -m space-nan --sample": "the scores of the next word are not finite",
    "generate sample -m lm-nan": "the scores of the next word are not finite",
    "predict fine --model rac-nan": "the answer to text 1 is no finite number",
    "predict fine -m rac-nan -o out.csv": "the answer to text 1 is no finite number",
    "encode fine --model rac-nan": "the state of text 1 is not finite",
    "explain text fine --model rac-nan": "W_H of this model is not finite",
    "explain entanglement rac-nan": "W_H of this model is not finite",
    "compress rac-nan --chi 2 -o smaller": "W_H of this model is not finite",
    "encode fine -m qbert-nan": "the state of text 1 is not finite",
    "predict fine -m qbert-nan": "a vector of norm nan, which no quantum state can hold",
    "predict fine -m qbert-zero": "a vector of norm 0, which no quantum state can hold",
    "explain ket fine -m qbert-nan": "a vector of norm nan, which no quantum state can hold",
    "explain similarity --word fine fine fine -m qbert-nan": "the vectors of 'fine' in 'fine' are not finite",
    "export qbert-nan --to quimb --text fine -o out.npz": "a vector of norm nan, which no quantum state can hold",
    "export qbert-nan --to onnx -o out.onnx": "encoder.token.weight_re of this model is not finite",
    "export bert-nan --to hf -o out.hf": "encoder.token.weight of this model is not finite",
    "export rac-nan --to quimb -o out.npz": "W_H of this model is not finite",
    "circuit cost head-nan": "the matrix of this head is not finite",
    "circuit export gates-nan -o out.qasm": "an angle of this head is not finite",
    "circuit export read-nan -o out.qasm": "the read-out of this head is not finite",
    "circuit export qbert-zero --text fine -o out.qasm": "a vector of norm 0",
    # Sizes and labels that are not there.
    "explain entanglement rac --length 0": "T is 1 or more",
    "explain entanglement rac --length 1": "no bond to cut",
    "explain entanglement rac --label awful": "'awful' is no label of this model",
    "explain entanglement rac-three": "has 3 classes",
    "compress rac --chi 0 -o smaller": "bond 0 lies outside 1..5",
    "compress rac --chi 6 -o smaller": "bond 6 lies outside 1..5",
    "compress rac --tolerance nan -o smaller": "a tolerance is a relative error",
    # Models of another family.
    "explain text fine --model qbert": "only a recurrent arithmetic circuit",
    "explain entanglement qbert": "only a recurrent arithmetic circuit",
    "compress qbert --chi 2 -o smaller": "only a recurrent arithmetic circuit",
    "export qbert --to quimb -o out.npz": "only a recurrent arithmetic circuit",
    "compress rac-deep --chi 2 -o smaller": "2 layers",
    "circuit export rac -o out.qasm": "head is no measurement",
    "circuit export modulus -o out.qasm": "head is no measurement",
    "circuit cost other.qasm": "no circuit file of psitext",
    "circuit run qbert --data rows.csv --shots 0": "0 shots measure nothing",
    "finetune --data rows.csv --encoder qbert --init rac --out out": "only a real BERT can be made a qbert",
    "export qbert --to hf -o out": "transformers has no qbert",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_known_one_sentence_and_nothing_written(place: Path, command: str) -> None:
    if command.startswith("circuit"):
        pytest.importorskip("qiskit")
    if "onnx" in command:
        pytest.importorskip("onnxruntime")
    before = set(door.files(place))
    done = door.run(*command.split(), cwd=place)
    last = done.err.splitlines()[-1]
    assert done.code == 2, done
    assert COMMANDS[command] in last and last.startswith("psitext: ") and "Traceback" not in done.err
    left = {name for name in door.files(place) if name not in before and not name.startswith("far/")}
    assert not [name for name in left if name.startswith(("smaller", "out."))], left


def test_known_a_text_without_a_known_word_gets_the_prior(place: Path) -> None:
    done = door.run("predict", "zebra zebra", "a fine film", "-m", "rac", cwd=place)
    told = "1 of 2 texts holds no word that the model knows; what it says of such a text is its prior\n"
    assert (done.code, done.err) == (0, told)
    nothing = racs.model().predict([""])[0]
    assert f'"prediction": "{nothing.label}", "probability": {round(nothing.probability or 0, 6)}' in done.out
    assert "its prior" in door.run("explain", "text", "zebra zebra", "-m", "rac", cwd=place).out
    assert door.run("predict", "a fine film", "-m", "rac", cwd=place).err == ""
