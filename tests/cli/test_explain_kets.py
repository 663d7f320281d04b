"""``psitext explain ket`` from the command line: tables, files, and what is refused."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

import door
import kets
import toys
from psitext.model import load

QUANTUM = pytest.mark.skipif(find_spec("qiskit_aer") is None, reason="needs psitext[quantum]")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of width 12, which is padded to 16, and a table."""
    folder = tmp_path_factory.mktemp("kets")
    kets.model(12).save(folder / "model")
    toys.table(folder / "films.csv", [("review",), ("a dull film",), ("the cast is fine",)])
    return folder


def test_known_two_sentences(place: Path) -> None:
    done = door.run("explain", "ket", "a gripping film", "a dull film", "--model", "model", cwd=place)
    assert (done.code, done.err) == (0, "")
    assert "real kets of 4 qubits (width 12, padded with zeros to 16), qubit 0 the most significant bit" in done.out
    state = load(place / "model").encode(["a gripping film", "a dull film"])
    row = next(line for line in done.out.splitlines() if "a gripping film" in line)
    bits = [f"{value:.4f}" for value in state.entropy_bits()[0].tolist()]
    assert re.findall(r"\d\.\d{4}", row) == bits
    assert f"{float(state[0].fidelity(state[1])):.4f}" in done.out.splitlines()[-1]


@QUANTUM
def test_known_a_file_with_a_bond_and_every_ending(place: Path) -> None:
    for ending in ("json", "csv", "svg", "png", "html"):
        out = f"k.{ending}"
        order = ("explain", "ket", "films.csv", "--text", "review", "--model", "model", "--bond", "2", "-o", out)
        done = door.run(*order, cwd=place)
        assert (done.code, done.err) == (0, ""), done.err
        assert f"written: {out}" in done.out and "two-qubit gates" in done.out and (place / out).stat().st_size
    tree = json.loads((place / "k.json").read_text())
    assert [one["text"] for one in tree["sentences"]] == ["a dull film", "the cast is fine"]
    assert tree["preparation"]["exact"]["two_qubit"] == 11
    made = load(place / "model").encode(["a dull film"]).to_product(2)
    # Within float32: they were encoded in another batch.
    assert tree["sentences"][0]["fidelity"] == pytest.approx(float(made.fidelity), abs=1e-6)


def test_known_json_on_the_terminal(place: Path) -> None:
    done = door.run("explain", "ket", "a dull film", "--model", "model", "--json", "-o", "one.csv", cwd=place)
    assert json.loads(done.out)["qubits"] == 4
    assert done.err == "written: one.csv\n"


@pytest.mark.parametrize(
    ("order", "says"),
    [
        (("x", "--model", "nowhere"), "nowhere"),
        (("x", "--model", "model", "--bond", "0"), "--bond 0 holds nothing"),
        (("x", "--model", "model", "--fidelity", "1.2"), "--fidelity is above 0 and at most 1, not 1.2"),
        (("x", "--model", "model", "-o", "k.pdf"), "written as .json, .csv, .svg, .png, .html"),
        (("x", "--model", "model", "--no-pad"), "12 is no power of two.*allow padding with zeros to 16"),
        (("films.csv", "--model", "model", "-o", "films.csv"), "would overwrite the sentences"),
        (("films.csv", "--model", "model"), "films.csv.*no column 'text'"),
        ((" ", "--model", "model"), "a sentence is empty"),
    ],
)
def test_known_mistakes_are_one_sentence(place: Path, order: tuple[str, ...], says: str) -> None:
    before = door.files(place)
    done = door.run("explain", "ket", *order, cwd=place)
    assert done.code == 2 and done.out == "" and done.err.count("\n") == 1, done
    assert re.search(says, done.err), done.err
    assert door.files(place) == before
