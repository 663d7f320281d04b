"""The shape of the house: which way imports point, who may import what, how big a file and a folder may grow.

Imports hidden in function bodies count like the others: a cycle is almost never visible at the top of a file.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import psitext

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "psitext"
ORDER = (
    "errors interrupts files config randomness nn state text encoders heads baselines hf score train explain quantum "
    "assemble model experiments estimator studio cli"
).split()
# The front door names every room, and the other one only opens it.
DOORS = {PACKAGE / "__init__.py", PACKAGE / "__main__.py"}
SOURCES = sorted(PACKAGE.rglob("*.py"))
PYTHON = sorted(path for top in ("src", "tests", "benchmarks") for path in (ROOT / top).rglob("*.py"))
SOLE_IMPORTER = {"transformers": "hf", "lambeq": "baselines", "gradio": "studio"} | dict.fromkeys(
    ("qiskit", "qiskit_aer", "pennylane", "mthree"), "quantum"
)


def imports(path: Path, text: str | None = None) -> Iterator[tuple[int, str]]:
    """Every (line, dotted name) that the file imports, wherever in it; ``from a import b`` gives ``a.b``."""
    inside = path.relative_to(PACKAGE.parent).parent.parts  # ("psitext", "text")
    for node in ast.walk(ast.parse(text if text is not None else path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside[: len(inside) - node.level + 1] if node.level else ()
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            constants = [arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)]
            yield from ((node.lineno, str(name)) for name in constants)


def room(path: Path) -> str:
    """The folder or top-level module that a file belongs to: ``text`` or ``model``."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def breaches(path: Path, text: str | None = None) -> list[str]:
    """What the file imports against the rules, one sentence each."""
    here = room(path)
    found = []
    for line, name in imports(path, text):
        top, _, rest = name.partition(".")
        where = f"{path.relative_to(ROOT)}:{line}"
        if SOLE_IMPORTER.get(top, here) != here:
            found.append(f"{where}: only {SOLE_IMPORTER[top]}/ imports {top}")
        if top != "psitext" or not rest or rest == "__version__":
            continue
        there = rest.split(".")[0]
        if there not in ORDER:
            found.append(f"{where}: psitext.{there} has no place in the order; import it from its own module")
        elif ORDER.index(there) > ORDER.index(here):
            found.append(f"{where}: {here} may not import {there}")
    return found


def test_law_every_room_has_its_place_in_the_order() -> None:
    rooms = {room(path) for path in SOURCES if path not in DOORS}
    assert rooms, "no source was found"
    assert rooms <= set(ORDER)


def test_law_imports_point_left() -> None:
    assert [line for path in SOURCES if path not in DOORS for line in breaches(path)] == []


@pytest.mark.parametrize(
    ("file", "text", "breach"),
    [
        (
            "text/rows.py",
            "def f():\n    from psitext.train import loop",
            "rows.py:2: text may not import train",
        ),
        ("text/rows.py", "import psitext.model as m", "text may not import model"),
        ("text/rows.py", "from psitext import load", "psitext.load has no place"),
        ("text/rows.py", "from ..heads.affine import Affine", "text may not import heads"),
        ("text/rows.py", "from . import tasks\nfrom psitext.errors import near\nimport psitext.nn", None),
        ("text/rows.py", "import_module('psitext.cli.fit')", "text may not import cli"),
        ("text/rows.py", "from transformers import BertModel", "only hf/ imports transformers"),
        ("hf/bert.py", "from transformers import BertModel", None),
        ("files.py", "if True:\n    import qiskit.circuit", "files.py:2: only quantum/ imports qiskit"),
        ("cli/fit.py", "from psitext import __version__", None),
    ],
)
def test_known_breaches_are_seen(file: str, text: str, breach: str | None) -> None:
    found = breaches(PACKAGE / file, text)
    assert (found == []) if breach is None else (len(found) == 1 and breach in found[0])


def test_law_a_file_holds_at_most_400_lines() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in PYTHON}
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_law_a_folder_holds_at_most_eight_modules_and_is_a_package() -> None:
    modules = {folder: sorted(folder.glob("*.py")) for folder in {path.parent for path in SOURCES}}
    names = {str(folder.relative_to(ROOT)): [path.name for path in files] for folder, files in modules.items()}
    assert [folder for folder, files in names.items() if "__init__.py" not in files] == []
    doors = {"__init__.py", "__main__.py"}
    assert {folder: files for folder, files in names.items() if len(set(files) - doors) > 8} == {}


def test_law_nothing_is_left_to_do_in_the_source() -> None:
    # The pattern names the marks of work that somebody meant to come back to; it is no such mark itself.
    left = re.compile(r"\b(TODO|FIXME|NotImplementedError)\b")
    lines = (
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if left.search(line)
    )
    assert list(lines) == []


def test_known_public_names_resolve() -> None:
    assert set(psitext.__all__) <= set(dir(psitext))
    for name in psitext.__all__:
        assert getattr(psitext, name).__name__.removeprefix("psitext.") == name
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        psitext.laod  # noqa: B018


HELP = "import runpy, sys; sys.argv = ['psitext', '--help']; runpy.run_module('psitext', run_name='__main__')"
HEAVY = {"torch", "transformers", "sklearn", "scipy", "accelerate", "datasets", "matplotlib"}
HEAVY |= {"qiskit", "pennylane", "lambeq", "gradio"}
# Printed when the interpreter ends, however it ends: which heavy packages it had loaded.
REPORT = f"import atexit, sys; atexit.register(lambda: print(*({HEAVY} & set(sys.modules)), file=sys.stderr)); "


@pytest.mark.parametrize("start", ["import psitext", "import psitext; dir(psitext), psitext.UserError", HELP])
def test_law_a_light_start_loads_nothing_heavy(start: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", REPORT + start], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    if start == HELP:
        assert "pretrain" in done.stdout
