"""Places that cannot be written are refused before the work: here no model could even be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from typer.main import get_command

import door
import toys
from psitext.cli import app, early
from psitext.train.checkpoint import CHECKSUMS

READ = {"--law", "--data-dir", "--circuit"}  # options that name what is read
NONE = {"report --results"}  # a folder that is read
# By verb and option, orders that write to {}: with an ending a file, else a folder.
ORDERS = {
    "predict --out": ["predict fine -m broken -o {}.csv"],
    "encode --out": ["encode fine -m broken -o {}.npz", "encode fine -m broken -o {}.jsonl"],
    "evaluate --submission": ["evaluate -m broken --submission {}.zip"],
    "evaluate --out": ["evaluate -m broken --data texts.csv -o {}"],
    "export --out": [
        "export broken --to hf -o {}",
        "export broken --to onnx -o {}",
        "export broken --to qasm3 -o {}.qasm",
        "export broken --to pennylane -o {}.py",
        "export broken --to quimb -o {}.npz",
        "export broken --to numpy --text fine -o {}.npz",
    ],
    "compress --out": ["compress broken --chi 3 -o {}"],
    "explain entanglement --figure": ["explain entanglement broken --figure {}.svg"],
    "explain text --figure": ["explain text fine -m broken --figure {}.png"],
    "explain ket --out": ["explain ket fine -m broken -o {}.json", "explain ket fine -m broken -o {}.html"],
    "circuit export --out": ["circuit export broken -o {}.qasm", "circuit export broken --to pennylane -o {}.py"],
    "circuit run --results": ["circuit run broken --data texts.csv --results {}.jsonl"],
    "circuit train --out": ["circuit train broken --data texts.csv -o {}"],
    "generate sample --out": ["generate sample -m broken -o {}.jsonl"],
    "generate sample --keep": ["generate sample -m broken --prior mixture --fit texts.csv --keep {}.safetensors"],
    "generate reconstruct --out": ["generate reconstruct fine -m broken -o {}.jsonl"],
    "generate interpolate --out": ["generate interpolate fine dull -m broken -o {}.jsonl"],
    "generate analogy --out": ["generate analogy a b c -m broken -o {}.jsonl"],
    "generate neighbours --out": ["generate neighbours fine --among texts.csv -m broken -o {}.jsonl"],
    "generate traverse --out": ["generate traverse fine -m broken -o {}.jsonl"],
    "generate label --out": ["generate label good -m broken -o {}.jsonl"],
    "generate fit --out": ["generate fit -m broken --data texts.csv -o {}"],
    "generate respond --out": ["generate respond fine -m broken -o {}.jsonl"],
    "generate fit-responses --out": ["generate fit-responses -m broken --data texts.csv -o {}"],
    "report --out": ["report broken -o {}.html", "report --results . -o {}.md"],
    "pretrain --out": ["pretrain --config pretrain.toml -o {}"],
    "finetune --out": ["finetune --config finetune.toml --data texts.csv -o {}"],
    "compare --out": ["compare texts.csv -o {}"],
    "sweep --out": ["sweep rac --task toy-sentiment -o {}"],
    "demo --out": ["demo -o {}"],
    "discocat --out": ["discocat --task toy-sentiment -o {}"],
    "bench --results": ["bench --only startup --results {}.jsonl"],
    "reproduce --out": ["reproduce rac/rt -o {}"],
    "reproduce --results": ["reproduce rac/rt -o runs --results {}"],
}
ALL = [order for orders in ORDERS.values() for order in orders]


def outputs(command: Any, name: str = "") -> Iterator[str]:
    """Every option of every verb that names a path to write."""
    for sub, inner in getattr(command, "commands", {}).items():
        yield from outputs(inner, f"{name} {sub}".strip())
    types = get_type_hints(command.callback) if command.callback else {}
    for option in command.params:
        if types.get(option.name) in (Path, Path | None) and option.opts[0].startswith("--"):
            yield from (f"{name} {one}" for one in option.opts[:1] if one not in READ)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("places")
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{}")
    (folder / "pretrain.toml").write_text(toys.PRETRAIN, encoding="utf-8")
    (folder / "finetune.toml").write_text(toys.FINETUNE, encoding="utf-8")
    toys.table(folder / "texts.csv", [("text", "label"), *toys.words_and_labels(60)])
    for order in ALL:
        (folder / f"there{ending(order)}").mkdir(exist_ok=True)
    return folder


def ending(order: str) -> str:
    return order.partition("{}")[2].split(" ")[0]


def refused(place: Path, order: str, out: str) -> str:
    before = door.files(place)
    done = door.run(*order.format(out).split(), cwd=place)
    assert (done.code, done.out) == (2, ""), done
    last = done.err.splitlines()[-1]
    assert last.startswith("psitext: cannot write ") and last.endswith("; nothing was changed"), done.err
    assert done.err.count("\n") == 1 and door.files(place) == before
    return last


def test_law_every_verb_that_writes_is_here() -> None:
    assert set(outputs(get_command(app))) - NONE == ORDERS.keys()


def test_law_a_model_s_folder_has_checksums() -> None:
    assert early.SUMS == CHECKSUMS


@pytest.mark.parametrize("order", ALL)
def test_law_a_place_below_a_file_is_refused_before_the_work(place: Path, order: str) -> None:
    assert "a part of that path is a file" in refused(place, order, "texts.csv/x")


@pytest.mark.parametrize("order", [order for order in ALL if ending(order)])
def test_law_a_folder_is_no_file_and_is_refused_before_the_work(place: Path, order: str) -> None:
    assert "that is a folder" in refused(place, order, "there")


@pytest.mark.parametrize("order", ["compare texts.csv -o {}", "demo -o {}", "sweep rac --task toy-sentiment -o {}"])
def test_law_a_file_is_no_folder_to_be_filled(place: Path, order: str) -> None:
    assert refused(place, order, "texts.csv").startswith(
        "psitext: cannot write texts.csv: that is a file, and a folder"
    )


def test_known_inputs_and_parts_of_models_are_no_outputs(place: Path) -> None:
    (place / "broken" / "checksums.json").write_text("{}")
    orders = {
        "explain ket fine -m broken -o broken/config.json": "-o broken/config.json is a file of a model; name another",
        "circuit run broken --data texts.csv --results texts.csv": "--results texts.csv would overwrite the files that",
        "circuit export broken.qasm -o broken.qasm": "-o broken.qasm would overwrite the circuits that are read",
        "compress broken --chi 3 -o texts.csv": "cannot write texts.csv: that is a file, and a folder is to be there",
        "compress broken --chi 3 -o there": "does not name model.safetensors",  # a folder that is empty is a place
    }
    (place / "broken.qasm").write_text("OPENQASM 3.0;\n")
    before = door.files(place)
    for order, sentence in orders.items():
        done = door.run(*order.split(), cwd=place)
        assert done.code == 2 and sentence in done.err, done
    assert door.files(place) == before
    (place / "broken" / "checksums.json").unlink()
