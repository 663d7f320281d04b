"""Run the python blocks of a page, in order, in one namespace, so that what a page says is tried."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    """Every ``python`` block: how many lines stand before it, and its code. Others are not meant to run."""
    text = page.read_text(encoding="utf-8")
    return [(text.count("\n", 0, found.start(1)), found[1]) for found in FENCE.finditer(text)]


def run_page(page: Path) -> dict[str, object]:
    """Run a page and return its names. A failure's traceback points at the line of the page."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for line, code in blocks(page):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
    return namespace
