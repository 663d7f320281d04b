"""The public names and their signatures, as tests/api.txt has them: a change is made on purpose or not at all.

    python tests/test_api.py

writes that file anew. A line is a name with its signature, a field or an attribute; names below are methods.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import psitext

FILE = Path(__file__).with_name("api.txt")
RENEW = "if it is meant, write tests/api.txt anew: python tests/test_api.py"
# Parts that need a package of an extra: their lines are compared where it is installed.
PARTS = {"quantum": "qiskit"}


def lines() -> list[str]:
    """Every public name, those of parts and classes with what is in them."""
    found: list[str] = []
    for name in sorted(psitext.__all__):
        if name not in PARTS:
            found += described(f"psitext.{name}", getattr(psitext, name))
        elif find_spec(PARTS[name]):
            part = importlib.import_module(f"psitext.{name}")
            for inner in sorted(part.__all__):
                found += described(f"psitext.{name}.{inner}", getattr(part, inner))
    return found


def described(name: str, value: Any) -> Iterator[str]:
    """The lines of one name: a class with its fields, properties and methods, its own and those it inherits from
    classes of psitext.
    """
    if not inspect.isclass(value):
        yield f"{name}{signature(value)}" if callable(value) else f"{name}: {type(value).__name__}"
        return
    bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    yield f"class {name}{signature(value)}" + (f" is a {bases}" if bases else "")
    fields = {field.name for field in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
    for member in sorted(ours(value)):
        found = inspect.getattr_static(value, member)
        if member in fields:
            continue  # stands in the signature
        if isinstance(found, property):
            yield f"    {member}: {returned(found)}"
        elif isinstance(found, staticmethod | classmethod):
            yield f"    {type(found).__name__} {member}{signature(found.__func__)}"
        elif inspect.isfunction(found):
            yield f"    {member}{signature(found)}"


def ours(value: type) -> set[str]:
    """Public members that psitext's own classes define."""
    classes = [each for each in value.__mro__ if each.__module__.partition(".")[0] == "psitext"]
    return {name for each in classes for name in vars(each) if not name.startswith("_")}


def signature(value: Any) -> str:
    """As it is written, annotations included; "()" of what has none to show."""
    try:
        found = str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"
    return re.sub(r" at 0x[0-9a-f]+", "", found)


def returned(found: property) -> str:
    annotation = inspect.signature(found.fget).return_annotation if found.fget else inspect.Signature.empty
    return "..." if annotation is inspect.Signature.empty else str(annotation)


def test_law_the_public_api_is_the_one_on_record() -> None:
    recorded = FILE.read_text(encoding="utf-8").splitlines()
    missing = [f"psitext.{name}." for name, package in PARTS.items() if not find_spec(package)]
    recorded = without(recorded, missing)
    change = list(difflib.unified_diff(recorded, lines(), "tests/api.txt", "psitext", lineterm="", n=1))
    assert not change, "\n".join(["the public API has changed;", RENEW, *change])


def without(recorded: list[str], prefixes: list[str]) -> list[str]:
    """The lines of other names than these, the indented ones that belong to a name with it."""
    kept, leaving = [], False
    for line in recorded:
        if not line.startswith(" "):
            leaving = line.removeprefix("class ").startswith(tuple(prefixes)) if prefixes else False
        if not leaving:
            kept.append(line)
    return kept


def test_law_every_public_name_has_a_docstring() -> None:
    bare = []
    for name in psitext.__all__:
        value = getattr(psitext, name) if name not in PARTS or find_spec(PARTS[name]) else None
        if value is None:
            continue
        bare += [name] if not inspect.getdoc(value) else []
        if inspect.isclass(value):
            members = {member: inspect.getattr_static(value, member) for member in ours(value)}
            shown = {key: one for key, one in members.items() if inspect.isfunction(one) or isinstance(one, property)}
            bare += [f"{name}.{key}" for key, one in shown.items() if not inspect.getdoc(one)]
    assert bare == []


def test_known_a_change_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(source: str, *, pool: int = 3) -> None:
        """Another."""

    monkeypatch.setattr(psitext, "load", load)
    with pytest.raises(AssertionError, match=r"\+psitext\.load\(source: 'str', \*, pool: 'int' = 3\) -> 'None'"):
        test_law_the_public_api_is_the_one_on_record()


def test_known_lines_of_a_missing_part_are_left_out() -> None:
    recorded = ["psitext.load()", "class psitext.quantum.Cost()", "    rows()", "psitext.quantum.run()", "psitext.x()"]
    assert without(recorded, ["psitext.quantum."]) == ["psitext.load()", "psitext.x()"]
    assert without(recorded, []) == recorded


if __name__ == "__main__":
    FILE.write_text("\n".join(lines()) + "\n", encoding="utf-8")
    print(f"{FILE}: {len(lines())} lines", file=sys.stderr)
