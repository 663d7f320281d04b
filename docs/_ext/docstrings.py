"""Docstrings are prose with double backticks and indented formulas; Sphinx wants reStructuredText.

A block that is indented stays as it is written, a line that begins with ``-`` is a point of a list, and in all else no
character but a backtick means anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
SPECIAL = re.compile(r"([\\*|_`])")
POINT = re.compile(r"(- |\d+\. )")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring as lines of reStructuredText."""
    found: list[str] = []
    for block in blocks(lines):
        if all(line.startswith("  ") for line in block):
            found += ["::", "", *(f"    {line}" for line in block), ""]
        else:
            found += [*points(prose("\n".join(block)).split("\n")), ""]
    return found


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Runs of lines that are not blank, a run of prose and the indented lines right after it apart."""
    block: list[str] = []
    for line in [*lines, ""]:
        listed = bool(block) and POINT.match(block[0]) is not None
        turned = bool(block) and not listed and line.startswith("    ") != block[-1].startswith("    ")
        if block and (not line.strip() or turned):
            yield block
            block = []
        if line.strip():
            block.append(line)


def points(lines: list[str]) -> list[str]:
    """A blank line before every first point of a list, and lines that go on a point set under it."""
    found: list[str] = []
    under = ""
    for line in lines:
        point = POINT.match(line)
        if point:
            found += [""] if found and not under else []
            under = " " * len(point[0])
            found.append(line)
        else:
            found.append(under + line.strip())
    return found


def prose(text: str) -> str:
    """Text in which backticks alone mean something, single ones what double ones mean."""
    parts = CODE.split(text)
    return "".join(
        f"``{' '.join(part.strip('`').split())}``" if index % 2 else SPECIAL.sub(r"\\\1", part)
        for index, part in enumerate(parts)
    )


def setup(app: Any) -> dict[str, bool]:
    """Turn every docstring that autodoc reads."""

    def turn(app: Any, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
        lines[:] = restructured(lines)

    app.connect("autodoc-process-docstring", turn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
