"""Circuits from the command line: cost, export, run, train; and what is refused."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("qiskit_aer", reason="needs psitext[quantum]")

import door
import toys
from kets import examples, model
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.model import load
from psitext.quantum import from_model, read_qasm3
from psitext.train.network import Network


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models with heads of several kinds, and a labelled table."""
    folder = tmp_path_factory.mktemp("circuit")
    model(8, groups=4).save(folder / "dense")
    model(24).save(folder / "padded")
    model(8, unitary="circuit", layers=2).save(folder / "gates")
    model(512, groups=2).save(folder / "wide")
    bare = model(8)
    affine = Network(bare.encoder, SequenceHead(8, 2, AffineConfig()))
    bare.__class__(**{**vars(bare), "network": affine, "head": AffineConfig()}).save(folder / "affine")
    rows = [(example.text, example.label) for example in examples(12)]
    toys.table(folder / "films.csv", [("review", "verdict"), *rows])
    return folder


FILMS = "--data films.csv --text review --label verdict"


def said(place: Path, command: str, err: str = "") -> str:
    done = door.run("circuit", *command.split(), cwd=place)
    assert (done.code, done.err) == (0, err), done
    return done.out


def test_known_costs(place: Path) -> None:
    out = said(place, "cost padded --state-bond 2 --text film --logit-error 0.1")
    flat = " ".join(out.replace("│", " ").split())
    for piece in ("5 (width 24 of 32,", "423 two-qubit gates,", "bond 2", "fidelity 0.", "logit is 0.1, for this text"):
        assert piece in flat, out
    wide = " ".join(said(place, "cost wide").replace("│", " ").split())
    assert "119,383 two-qubit gates" in wide and "(by formula)" in wide and "1 measured" in wide


def test_law_an_exported_head_is_the_models(place: Path) -> None:
    for name in ("dense", "gates"):
        assert said(place, f"export {name} -o {name}.qasm") == f"written: {name}.qasm\n"
        ours, theirs = from_model(load(place / name)), read_qasm3(place / f"{name}.qasm")
        kets = ours.kets(load(place / name).encode(["film", "a dull film"]))
        np.testing.assert_allclose(theirs.probabilities(kets), ours.probabilities(kets), atol=1e-9)
        assert theirs.labels == ("bad", "good")
        assert "two-qubit gates" in " ".join(said(place, f"cost {name}.qasm").split())
    assert said(place, "export gates --to pennylane --text film -o gates.py") == "written: gates.py\n"
    assert (place / "gates.npz").is_file()
    assert said(place, "export dense --to qpy -o dense.qpy") == "written: dense.qpy\n"


def test_law_a_run_is_scored_beside_exact_answers(place: Path) -> None:
    said(place, "export gates -o again.qasm")
    exact = said(place, f"run gates {FILMS}")
    assert said(place, f"run gates {FILMS} --circuit again.qasm").split(" s\n")[0][:-4] == exact.split(" s\n")[0][:-4]
    out = said(place, f"run gates {FILMS} --shots 200 --limit 5 --noise depolarizing:0.05 --results lines.jsonl")
    assert "films films.csv: 5 of 12 texts, 200 shots, noisy (depolarizing:0.05) machine, 3 qubits" in out
    line = json.loads((place / "lines.jsonl").read_text(encoding="utf-8"))
    assert line["metrics"]["total variation"] > 0.01 and line["rows"] == {"films.csv": 5}
    assert "mps" not in out and line["metrics"]["accuracy"] in (0, 0.2, 0.4, 0.6, 0.8, 1)


def test_known_empty_texts_are_told_and_scored(place: Path) -> None:
    toys.table(place / "gaps.csv", [("review", "verdict"), ("a dull film", "bad"), (" ", "good"), ("", "bad")])
    err = "2 of 3 texts are empty; their ket is that of no words\n"
    assert "films gaps.csv: 3 of 3 texts" in said(place, "run gates --data gaps.csv --text review --label verdict", err)


def test_known_training(place: Path) -> None:
    out = said(place, f"train gates {FILMS} --limit 4 --steps 3 --shots 50 -o trained")
    assert "36 circuits; written: trained" in out and "loss" in out
    assert from_model(load(place / "trained")).gates != from_model(load(place / "gates")).gates


COMMANDS = {
    "cost absent": r"there is no model at absent; `psitext models` lists names",
    "cost affine": r"this model's head is no measurement, and so no circuit; .*",
    "cost padded --no-pad": r"a width of 24 is no power of two, so its kets fit no qubits; allow padding .* to 32",
    "cost dense --logit-error 0": r"a logit error of 0 takes infinitely many shots; name one above 0",
    "cost dense --logit-error 1e-200": r"a logit error of 1e-200 takes more shots than there will be; name .*",
    "cost dense --state-bond 0": r"a bond of 0 holds nothing; .*",
    "cost films.qasm": r"there is no circuit file films\.qasm",
    "cost strange.qasm": r"strange\.qasm is no circuit file of psitext: it does not begin with .*",
    "export dense": r"name a file with -o",
    "export dense --to qasm2 -o x": r"no form called 'qasm2'; did you mean 'qasm3'\?",
    "export dense --to qasm3 -o x": r"circuits in OpenQASM 3 are written as \.qasm, not as 'x'",
    "export dense --to qpy -o x.qasm": r"circuits in QPY are written as \.qpy, not as 'x\.qasm'",
    "export dense --to pennylane -o x.txt": r"PennyLane scripts are written as \.py, not as 'x\.txt'",
    "export dense -o films.csv/x.qasm": r"cannot write films\.csv/x\.qasm: a part of that path is a file.*",
    f"run dense {FILMS} --shots 0": r"0 shots measure nothing; one at least is needed.*",
    f"run dense {FILMS} --noise depolarizing:0.1": r"noise, backends and corrections show in counts; name the .*",
    f"run dense {FILMS} --shots 99999999999999999999": r"--shots is at most 10,000,000 a text, not 99,999,999,.*",
    f"run dense {FILMS} --shots 9 --seed 99999999999999999999": r"invalid value for '--seed': .*",
    f"run dense {FILMS} --shots 9 --readout-error nan": r"a readout error probability .*, not at nan",
    f"run dense {FILMS} --limit 99999999999999999999": r"psitext circuit run: limit is beyond .*",
    f"train dense {FILMS} --limit 99999999999999999999 -o x": r"psitext circuit train: limit is beyond .*",
    f"train gates {FILMS} --lr nan -o x": r"a rate of training is a number above 0, not nan",
    f"train dense {FILMS} --shots 0 -o x": r"0 shots measure nothing; one at least is needed.*",
    f"run dense {FILMS} --shots 9 --noise thermal": r"no noise called 'thermal'; write depolarizing:0\.001",
    f"run dense {FILMS} --readout-error 2 --shots 9": r"a readout error probability lies between 0 and 0\.5, not at 2",
    f"run dense {FILMS} --mitigate --shots 9": r"this machine misreads nothing, so there is nothing to correct; .*",
    f"run dense {FILMS} --state mps": r"no state preparation called 'mps'; write exact or mps:4",
    f"run wide {FILMS} --noise depolarizing:0.1 --shots 9": r"a dense head of 9 qubits takes 119,383 CX gates, .*",
    f"run padded {FILMS} --no-pad": r"a width of 24 is no power of two, .*",
    f"run padded {FILMS} --circuit narrow.qasm": r"a head for kets of width 8 cannot read states of width 24",
    f"run dense {FILMS} --circuit strange.qasm": r"strange\.qasm is no circuit file of psitext: .*",
    "run dense --data films.csv --text review": r"films\.csv has no column 'label'; it has: review, verdict.*",
    "run dense --task sts2": r"no task called 'sts2'; .*",
    "run dense --task toy-tags": r"the model answers films \(bad, good\), not toy-tags .*",
    "run dense": r"this model was fine-tuned on a file of your own \(films\), which has no splits; name a .*--data.*",
    "export dense --text '' -o x.qasm": r"--text is empty; a ket is made from at least one word",
    "cost dense --text ' '": r"--text is empty; a ket is made from at least one word",
    f"train dense {FILMS} -o out": r"this head has no angles to train on a machine; .*",
    f"train gates {FILMS}": r"name a folder for the trained model with -o",
    f"train gates {FILMS} --method spas -o out": r"--method is one of parameter-shift, spsa, not 'spas'; .*",
}


@pytest.fixture(scope="module")
def strange(place: Path) -> Path:
    (place / "strange.qasm").write_text('OPENQASM 3.0;\ninclude "stdgates.inc";\nqubit[3] q;\nx q[0];\n')
    said(place, "export gates -o narrow.qasm")
    return place


@pytest.mark.parametrize("command", COMMANDS)
def test_known_what_is_refused(strange: Path, command: str) -> None:
    before = door.files(strange)
    done = door.run("circuit", *shlex.split(command), cwd=strange)
    assert "Traceback" not in done.err, done.err
    assert (done.code, done.out) == (2, ""), done
    assert done.err.count("\n") == 1
    assert re.fullmatch(rf"psitext: {COMMANDS[command]}\n", done.err), done.err
    assert door.files(strange) == before
