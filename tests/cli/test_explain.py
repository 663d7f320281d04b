"""Circuits from the command line: entanglement, texts, compression, arrays for other libraries; and what is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch

import door
import racs
import toys
from psitext.cli.explain import options
from psitext.explain.mps import formats
from psitext.model import load
from psitext.model.mps import reading, sentence


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Circuits of several kinds, another model, and tables."""
    folder = tmp_path_factory.mktemp("explain")
    racs.model(seed=4).save(folder / "rac")
    racs.model(seed=4, pad="word").save(folder / "filled")
    racs.model(3).save(folder / "three")
    racs.model(1).save(folder / "score")
    racs.model(law=False).save(folder / "lawless")
    racs.model(layers=2).save(folder / "deep")
    racs.model(biases=False).save(folder / "bare")
    weights = dict(racs.model().network.named_parameters())
    nan = torch.full_like(weights["encoder.cells.0.hidden"], torch.nan)
    racs.with_weights(racs.model(), **{"encoder.cells.0.hidden": nan}).save(folder / "nan")
    replace(racs.model(), task=racs.task(pair="second")).save(folder / "pairs")
    (folder / "bert").symlink_to(toys.trained("words"))
    toys.table(folder / "labelled.csv", [("text", "label"), ("a fine film", "good"), ("odd", "bad"), ("fine", "bad")])
    toys.table(folder / "own.csv", [("review", "mood"), ("a fine film", "good"), ("odd", "bad"), ("fine", "bad")])
    toys.table(folder / "texts.csv", [("review",), ("a fine film",), ("odd odd",)])
    return folder


NOTE = (
    "in this metric entropies change with the scale of word vectors, on which no prediction depends; --metric data "
    "does not\n"
)


def said(place: Path, *args: object, err: str = "") -> str:
    done = door.run(*args, cwd=place)
    assert (done.code, done.err) == (0, err), done
    return done.out


def test_law_the_choices_are_the_model_s() -> None:
    assert get_args(reading.Closing) == options.CLOSINGS
    assert get_args(reading.Metric) == options.METRICS
    assert get_args(sentence.Baseline) == options.BASELINES == tuple(sentence.BASELINES)


def test_known_entanglement(place: Path) -> None:
    out = said(place, "explain", "entanglement", "rac", err=NOTE)
    held = load(place / "rac").to_mps()
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["cut", "bits", "bound", "rank"]
    assert [float(row[1]) for row in rows[1:10]] == pytest.approx(held.entropy_bits().tolist(), abs=1e-4)
    assert [int(row[3]) for row in rows[1:10]] == held.rank().tolist()
    assert f"bond 5 bounds it by {np.log2(5):.4f}" in out and held.bulk().statement in out
    assert "the state: the log-odds of good against bad; 10 words, paper metric" in out
    out = said(place, "explain", "entanglement", "rac", "--metric", "data", "--length", "3", "--figure", "e.png")
    assert len(out.splitlines()) == 3 + 5 and out.endswith("figure: e.png\n")
    assert (place / "e.png").stat().st_size > 1000


def test_known_entanglement_as_json(place: Path) -> None:
    ways = ["--metric", "data", "--closing", "ones", "--length", "7", "--law", "texts.csv", "--text", "review"]
    out = said(place, "explain", "entanglement", "filled", *ways, "--json", "--figure", "e.svg", err="figure: e.svg\n")
    texts = ["a fine film", "odd odd"]
    assert json.loads(out) == load(place / "filled").to_mps(7, "ones", "data", texts=texts).record()
    out = said(place, "explain", "entanglement", "three", "--label", "fair", "--json")
    assert json.loads(out)["state"] == "the logit of fair"


def test_known_a_text(place: Path) -> None:
    found = load(place / "rac").explain("A fine film")
    out = said(place, "explain", "text", "A fine film", "-m", "rac", "--top", "3", "--figure", "t.svg")
    lines = out.splitlines()
    label, prior = found.answer, found.prior
    assert lines[0] == (
        f"{label.label} ({label.probability:.4f}); of a text without words: {prior.label} ({prior.probability:.4f})"
    )
    assert lines[1] == (
        f"the log-odds of good against bad: {float(found.logits):.4f}; {float(found.nothing):.4f} with the mean word, "
        "which stands for a random one in every place"
    )
    assert lines.pop(2).startswith("probabilities are calibrated: they are those of log-odds divided by")
    rows = [line.split() for line in lines[3:6]]
    assert [row[0] for row in rows] == ["A", "fine", "film"]
    assert [float(row[1]) for row in rows] == pytest.approx(found.shapley[0].tolist(), abs=1e-4)
    assert [float(row[2]) for row in rows] == pytest.approx(found.leave_one_out[0].tolist(), abs=1e-4)
    assert lines[6].split() == ["place", "word", "instead", "then", "probability"]
    flips = [line.split() for line in lines[7:10]]
    assert [(int(row[0]), row[2], row[3]) for row in flips] == [
        (one.place + 1, one.instead, one.label) for one in found.flips[:3]
    ]
    assert lines[10:] == ["figure: t.svg"] and (place / "t.svg").read_text(encoding="utf-8").startswith("<svg")


def test_known_a_text_as_json(place: Path) -> None:
    ways = ["--baseline", "pad", "--metric", "paper", "--json"]
    out = said(place, "explain", "text", "not a fine zebra film", "--model", "filled", *ways)
    found = load(place / "filled").explain("not a fine zebra film", baseline="pad", metric="paper")
    assert json.loads(out) == {**found.record(), "model": "filled"}
    assert json.loads(out)["unknown"] == ["zebra"]


def test_known_words_that_are_not_read(place: Path) -> None:
    out = said(place, "explain", "text", "zebra fine", "-m", "score",
               err="unknown to the model, and left out: zebra\n")  # fmt: skip
    assert "the score: " in out and "no other word in one place" not in out
    long = "odd " * 12
    out = said(place, "explain", "text", long, "-m", "rac", err="2 words are beyond what the model reads; left out\n")
    assert len([line for line in out.splitlines() if line.startswith("odd")]) == 10


def test_known_a_text_with_no_known_word(place: Path) -> None:
    prior = load(place / "rac").predict([""])[0]
    err = "unknown to the model, and left out: zebra\nno figure: there is no word to draw\n"
    out = said(place, "explain", "text", "zebra", "-m", "rac", "--figure", "none.svg", err=err)
    says = f"{prior.label} ({prior.probability:.4f})"
    assert out == f"the model knows no word of this text; what it says is its prior: {says}\n"
    assert not (place / "none.svg").exists()
    record = json.loads(said(place, "explain", "text", "zebra", "-m", "rac", "--json"))
    assert record["words"] == [] and record["answer"] == record["prior"]


def test_known_compression(place: Path) -> None:
    ways = ["--chi", "3", "--data", "labelled.csv", "--beside", "filled", "-o", "small"]
    out = said(place, "compress", "rac", *ways)
    lines = out.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["model", "circuit", "compressed", "filled"]
    assert "labelled.csv: measured error" in lines[0] and "labelled.csv: accuracy" in lines[0]
    model = load(place / "rac")
    smaller = model.compress(3)
    assert f"{smaller.predicted_error:.4f}" in lines[2].split()
    assert lines[4:] == [f"predicted for texts of {smaller.length} words, data metric", "model: small"]
    # The folder is a model like any other.
    texts = ["a fine film", "odd"]
    ours = [json.loads(line) for line in said(place, "predict", *texts, "-m", "small").splitlines()]
    assert [one["prediction"] for one in ours] == [answer.label for answer in smaller.model.predict(texts)]
    assert "accuracy" in said(place, "evaluate", "-m", "small", "--data", "labelled.csv")
    assert json.loads(said(place, "encode", "odd", "-m", "small"))["vector"] == pytest.approx(
        smaller.model.encode(["odd"]).vector[0].tolist(), abs=2e-6
    )


def test_known_compression_measured_on_a_file_of_other_columns(place: Path) -> None:
    """--text is of both files, --label of the labelled one."""
    ways = ["--chi", "3", "--law", "texts.csv", "--text", "review", "--label", "mood", "-o"]
    own = said(place, "compress", "rac", *ways, "own-small", "--data", "own.csv").splitlines()
    toys.table(place / "own.txt", [("a fine film",), ("odd odd",)])
    same = ["--chi", "3", "--law", "own.txt", "--data", "labelled.csv", "-o", "own-same"]
    assert [line.split() for line in own[1:3]] == [
        line.split() for line in said(place, "compress", "rac", *same).splitlines()[1:3]
    ]


def test_known_compression_by_tolerance_and_what_each_size_costs(place: Path) -> None:
    out = said(place, "compress", "filled", "--tolerance", "0.9", "--analysis", "--metric", "paper", "-o", "smaller")
    found = load(place / "filled").compress(tolerance=0.9, metric="paper")
    assert load(place / "smaller").encoder.config.width == found.bond
    lines = [line.split() for line in out.splitlines()]
    assert lines[0][:2] == ["bond", "no"] and [line[0] for line in lines[1:6]] == ["1", "2", "3", "4", "5"]
    alone = said(place, "compress", "filled", "--analysis", "--metric", "paper", "--length", "10")
    assert out.startswith(alone)


def test_known_a_compressed_circuit_of_more_weights_is_told(place: Path) -> None:
    found = load(place / "rac").compress(4)
    assert found.weights > found.of_weights
    said(place, "compress", "rac", "--chi", "4", "-o", "larger", err=found.warning + "\n")


def test_known_fine_tuning_goes_on_from_a_compressed_circuit(place: Path) -> None:
    said(place, "compress", "rac", "--chi", "2", "-o", "start")
    data = "--data labelled.csv --dev labelled.csv".split()
    (place / "dev.csv").write_bytes((place / "labelled.csv").read_bytes())
    done = door.run("finetune", "--init", "start", *data[:2], "--dev", "dev.csv", "-o", "tuned",
                    "--set", "train.epochs=1", cwd=place)  # fmt: skip
    assert done.code == 0, done.err
    assert load(place / "tuned").encoder.config.family == "automaton"


@pytest.mark.parametrize("to", ["numpy", "quimb", "tenpy", "tensorkrowch"])
def test_law_an_exported_state_comes_back(place: Path, to: str) -> None:
    out = said(place, "export", "rac", "--to", to, "-o", f"{to}.npz", "--length", "6")
    assert out.startswith(f"written: {to}.npz\nimport numpy\nf = numpy.load('{to}.npz')\n")
    with np.load(place / f"{to}.npz", allow_pickle=False) as arrays:
        again = formats.from_numpy(arrays)
    sites = again if isinstance(again, formats.Sites) else formats.sites(again)
    for ours, theirs in zip(load(place / "rac").to_mps(6).sites().arrays, sites.arrays, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_known_export_names_its_model_either_way(place: Path) -> None:
    said(place, "export", "bert", "-o", "hf-one")
    said(place, "export", "-m", "bert", "-o", "hf-two")
    assert (place / "hf-one" / "config.json").read_bytes() == (place / "hf-two" / "config.json").read_bytes()


REFUSED = {
    "explain entanglement bert": r"this model is a bert; only a recurrent arithmetic circuit .*",
    "explain entanglement deep": r"a circuit of 2 layers is not linear in every word.*",
    "explain entanglement bare": r"a circuit without biases stays at h = 0.*",
    "explain entanglement nan": r"W_H of this model is not finite: its training diverged.*",
    "explain entanglement absent": r"there is no model at absent; `psitext models` lists names",
    "explain entanglement rac --length 0": r"a chain of T = 0 words holds nothing; T is 1 or more",
    "explain entanglement rac --length 1": r"a chain of one word has no bond to cut.*",
    "explain entanglement rac --closing one": r"--closing is one of readout, ones, not 'one'; did you mean 'ones'\?",
    "explain entanglement rac --metric date": r"--metric is one of paper, data, not 'date'; did you mean 'data'\?",
    "explain entanglement rac --label god": r"'god' is no label of this model; did you mean 'good'\?",
    "explain entanglement three": r"this model has 3 classes, and each has a logit of its own; name a label .*",
    "explain entanglement lawless --metric data": r"this model does not hold the law of its words .*--law.*",
    "explain entanglement rac --figure e.pdf": r"figures are written as \.svg, \.png, not as 'e\.pdf'",
    "explain entanglement rac --text review": r"--text names a column of the file of --law; name that file, too",
    "explain entanglement rac --law absent.csv": r"there is no file absent\.csv.*",
    "explain entanglement rac --law texts.csv --text revew": r"texts\.csv has no column 'revew'; .*",
    "explain text fine -m bert": r"this model is a bert; only a recurrent arithmetic circuit .*",
    "explain text fine -m deep": r"a circuit of 2 layers is not linear in every word.*",
    "explain text fine -m nan": r"W_H of this model is not finite.*",
    "explain text fine -m pairs": r"this model was trained on pairs of texts; .*",
    "explain text fine -m rac --baseline pad": r"this model fills no texts, so it has no padding .*",
    "explain text fine -m rac --baseline men": r"--baseline is one of mean, zero, pad, not 'men'.*",
    "explain text fine -m lawless --baseline mean": r"this model does not hold the law of its words .*",
    "explain text fine -m rac --top 0": r"the number of substitutions to show is at least 1, not 0",
    "compress rac --chi 3": r"name a folder for the smaller model with -o",
    "compress rac -o x": r"say how small: --chi 8, or --tolerance 0\.01; .*",
    "compress rac --analysis -o x": r"say how small the model in -o is to be: .*",
    "compress rac --chi 3 --tolerance 0.1 -o x": r"say how small: by chi, .*, or by tolerance, .*",
    "compress rac --chi 0 -o x": r"bond 0 lies outside 1\.\.5; this chain's own is 5",
    "compress rac --chi 6 -o x": r"bond 6 lies outside 1\.\.5; this chain's own is 5",
    "compress rac --tolerance -1 -o x": r"a tolerance is a relative error of at least 0, not -1",
    "compress rac --chi 3 -o rac": r"-o rac is, or lies in, a model that is read here .*; name another folder",
    "compress rac --chi 3 -o x --data absent.csv": r"there is no file absent\.csv.*",
    "compress rac --chi 3 -o x --data own.csv": r"own\.csv has no columns 'text' and 'label'; it has: review, mood "
    r"\(name them with --text and --label; numbers, .*\)",
    "compress rac --chi 3 -o x --data own.csv --text review --label moods": r"own\.csv has no column 'moods'; .*",
    "compress rac --chi 3 -o x --text review": r"--text names a column of the files of --law and --data; name one .*",
    "compress rac --chi 3 -o x --law texts.csv --text review --label mood": r"--label names a column of the file of .*",
    "compress rac --chi 3 -o x --split dev": r"this model was fine-tuned on a file of your own .*, as in "
    r"`psitext compress rac --chi 3 -o x --data mood\.csv --text text --label label`",
    "compress rac --chi 3 -o x --task sts2": r"no task called 'sts2'.*",
    "compress rac --chi 3 -o x --beside absent": r"there is no model at absent; `psitext models` lists names",
    "compress rac --chi 3 -o x --beside three": r"three answers mood, which has other labels than mood",
    "compress bert --chi 3 -o x": r"this model is a bert; only a recurrent arithmetic circuit .*",
    "compress deep --chi 3 -o x": r"a circuit of 2 layers is not linear in every word.*",
    "export rac -m rac -o x": r"name one model, as the argument or with --model, not twice",
    "export -o x": r"name one model, as the argument or with --model",
    "export rac --to quimb": r"name an \.npz file with -o",
    "export rac --to quimb -o x.h5": r"matrix product states are written as \.npz, not as 'x\.h5'",
    "export rac --to qimb -o x.npz": r"cannot export to 'qimb'; did you mean 'quimb'\?",
    "export rac -o x": r"transformers has no rac; a BERT, a GPT-2 or a Llama can be written for it",
    "export bert --length 5 -o x": r"--length, --closing, --metric, --label and --law are for matrix product .*",
    "export bert --to numpy -o x.npz": r"this model is a bert; only a recurrent arithmetic circuit .*",
    "export rac --to quimb --length 1 -o x.npz": r"a chain of one word has no bond to cut.*",
}


@pytest.mark.parametrize("command", REFUSED)
def test_law_mistakes_are_one_sentence_and_change_nothing(place: Path, command: str) -> None:
    before = door.files(place)
    done = door.run(*command.split(), cwd=place)
    assert (done.code, done.out) == (2, ""), done
    assert re.fullmatch(rf"psitext: {REFUSED[command]}\n", done.err), done.err
    assert door.files(place) == before


def test_law_an_empty_text_is_refused(place: Path) -> None:
    for text in ("", "  "):
        done = door.run("explain", "text", text, "-m", "rac", cwd=place)
        assert (done.code, done.out) == (2, "")
        assert done.err == "psitext: the text is empty; there is no word to explain\n"
