"""The page that walks chapter 15.8 runs, and holds the numbers that it speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs_blocks import ROOT, blocks, run_page

PAGE = ROOT / "docs" / "chapter-15-8.md"


def test_smoke_the_chapter_runs() -> None:
    assert len(blocks(PAGE)) >= 8
    names = run_page(PAGE)
    assert names["checked"] == ["(2, 8, 768)", "(2, 3, 10000)", "(6,)", "(2, 2)", "(2,)"]


def test_known_a_page_runs_block_by_block_and_shows_where_it_fails(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n```python\nx = 1\n```\n\n```text\nnot python\n```\n\n```python\ny = x + 1\n```\n")
    assert [line for line, _ in blocks(page)] == [3, 11]
    assert run_page(page)["y"] == 2
    page.write_text("one\n\n```python\nx = 1\n\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run_page(page)
    last = caught.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (str(page), 6)
