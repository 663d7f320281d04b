"""The demo, on a tenth of its text: every part of it, nothing of it twice, and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from psitext.experiments import demo
from psitext.experiments.runs import recipes
from psitext.train.loop import Event

SMALL = {
    "demo-pretrain": ["train.steps=6", "encoder.width=16", "encoder.layers=1", "tokenizer.vocab_size=400"],
    "demo-finetune": ["train.steps=6", "data.limit=200"],
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped recipes, made short."""
    whole = recipes.resolve_recipe

    def resolved(verb: str, name: str, settings: Sequence[str] = (), given: dict[str, Any] | None = None) -> Any:
        given = {**(given or {})}
        if verb == "pretrain":
            given |= {"corpus": [{"files": ["toy:300"]}], "train": {}}
        return whole(verb, name, [*settings, *SMALL[name]], given)

    monkeypatch.setattr(demo, "resolve_recipe", resolved)
    monkeypatch.setattr(demo.run, "resolve_recipe", resolved)


def test_smoke_the_demo(small: None, tmp_path: Path) -> None:
    events: list[Event] = []

    @contextmanager
    def show(title: str) -> Iterator[Callable[[Event], None]]:
        yield events.append

    found = demo.run_demo(tmp_path / "demo", 0.01, show)
    assert [row["model"] for row in found.rows] == [
        "BERT, pre-trained", "same BERT, not pre-trained", "bag of words", "majority",
    ]  # fmt: skip
    assert all(0 <= row["accuracy"] <= 1 for row in found.rows)
    page = found.report.read_text(encoding="utf-8")
    assert found.report == tmp_path / "demo" / "report.html"
    assert page.startswith("<!doctype html>") and 'src="http' not in page and 'href="http' not in page
    for text in ("psitext demo", "bag of words", "not pre-trained", "fine-tuned", "demo-pretrain"):
        assert text in page, text
    count = len(events)
    assert count > 0
    again = demo.run_demo(tmp_path / "demo", 0.01, show)
    assert again.rows == found.rows
    assert len(events) == count, "something was trained twice"
