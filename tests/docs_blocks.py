"""What the pages show, as something to try: python blocks to run in order, command lines to parse or run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A command of ours, as it is or under a launcher of several processes.
COMMAND = re.compile(r"(?:\$ )?(?:psitext|(?:accelerate launch|torchrun)\b.* -m psitext) (.*)")


def blocks(page: Path) -> list[tuple[int, str]]:
    """Every ``python`` block: how many lines stand before it, and its code. Others are not meant to run."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in FENCE.finditer(text)]


def run_page(page: Path, short: Mapping[str, str] | None = None) -> dict[str, object]:
    """Run a page and return its names. A failure's traceback points at the line of the page.

    ``short`` says what stands in for what would take too long.
    """
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page):
        exec(compile("\n" * line + _shortened(code, short or {}), str(page), "exec"), namespace)
    return namespace


def commands(page: Path) -> list[tuple[int, list[str], bool]]:
    """Every command line of a page: its line number, the arguments of psitext, and whether a launcher starts it."""
    found, fence = [], ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fence = "" if fence else line
        elif (fence and fence != "```python") or line.startswith("    "):
            command = COMMAND.fullmatch(line.strip())
            if command is not None:
                found.append((number, shlex.split(command[1], comments=True), " -m psitext " in line))
    return found


def _shortened(code: str, short: Mapping[str, str]) -> str:
    for long, instead in short.items():
        code = code.replace(long, instead)
    return code
