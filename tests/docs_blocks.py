"""The pages, and what they show as something to try: python blocks to run in order, command lines to parse or run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Every page of the site in its folders, without what a build of the site leaves there.
SITE = sorted(page for page in DOCS.rglob("*.md") if not {"_build", "generated"} & set(page.relative_to(DOCS).parts))
TOCTREE = re.compile(r"^```\{toctree\}\n((?::[^\n]*\n)*)(.*?)^```$", re.MULTILINE | re.DOTALL)
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


def below(page: Path) -> list[Path]:
    """The pages of the site that a page's toctrees list, without those that a build makes."""
    entries = [line for found in TOCTREE.finditer(page.read_text(encoding="utf-8")) for line in found[2].split()]
    return [page.parent / f"{entry}.md" for entry in entries if not entry.startswith("generated/")]


def called(page: Path) -> str:
    """What a page is called in the output of tests."""
    return page.relative_to(ROOT).as_posix()


def _shortened(code: str, short: Mapping[str, str]) -> str:
    for long, instead in short.items():
        code = code.replace(long, instead)
    return code
