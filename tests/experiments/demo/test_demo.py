"""The demo on tiny models and few reviews: every family, nothing trained twice, the page, and what may be missing."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import contenders
import door
import toys
import vaes
from psitext.errors import UserError
from psitext.experiments import demo
from psitext.experiments.demo import page, qbert, reviews
from psitext.experiments.demo.plan import SAME_WORDS, Plan, Section, called
from psitext.experiments.finetune import finetune_run
from psitext.experiments.results import report
from psitext.experiments.runs.recipes import FinetuneRecipe, resolve_recipe
from psitext.state import SentenceState
from psitext.train.loop import Event

NAMES = ("RAC", "Optimus", "BERT", "QBERT")


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Tiny models of all families, and very little to do with them."""
    recipe = resolve_recipe(
        "finetune",
        "rac",
        ["train.steps=6", "train.batch_sequences=8", "train.precision=fp32", "tokenizer.vocab_size=64"],
        {
            "task": str(toys.task_file(toys.folder(), "sentiment")),
            "encoder": {"bond": 4, "features": 4},
            "data": {"limit": 64},
        },
    )
    assert isinstance(recipe, FinetuneRecipe)
    finetune_run(recipe, toys.folder() / "demo-rac")
    return Plan(
        bert=str(toys.pretrained()),
        qbert=str(contenders.qbert()),
        rac=str(toys.folder() / "demo-rac"),
        optimus=str(vaes.space()),
        rows=48,
        judged=40,
        settings=("train.steps=4", "train.precision=fp32", "train.log_every=2", "train.evaluate_every=1000"),
        sentences=4,
        known=50,
        circuits=2,
        shots=20,
    )


@pytest.fixture(scope="module")
def done(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> tuple[demo.Demo, list[Section], int]:
    """A whole demo: what it found, what it told, and how many events its trainings had."""
    return whole(plan, tmp_path_factory.mktemp("demo"))


def whole(plan: Plan, out: Path) -> tuple[demo.Demo, list[Section], int]:
    events: list[Event] = []
    told: list[Section] = []

    @contextmanager
    def show(title: str) -> Iterator[Callable[[Event], None]]:
        yield events.append

    return demo.run_demo(out, plan, show, told.append), told, len(events)


def test_smoke_every_family_is_told(plan: Plan, done: tuple[demo.Demo, list[Section], int]) -> None:
    found, told, events = done
    assert tuple(section.family for section in told) == NAMES
    assert all(section.lines and section.parts and section.rows for section in told)
    names = [row["model"] for row in found.rows]
    assert names == [
        f"{called(plan.bert)}, fine-tuned", "the same net, from nothing", f"{called(plan.qbert)}, fine-tuned",
        f"{called(plan.rac)}, as it comes", "bag of words", "majority",
    ]  # fmt: skip
    assert all(0 <= float(row["accuracy"]) <= 1 for row in found.rows)
    assert len({tuple(row) for row in found.rows}) == 1, "one table, one shape"
    assert events > 0


def test_smoke_the_page_holds_all_and_needs_nothing(done: tuple[demo.Demo, list[Section], int]) -> None:
    found, told, _ = done
    text = found.report.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and 'src="http' not in text and 'href="http' not in text
    for section in told:
        assert all(part.title in text for part in section.parts), section.family
        assert any(not isinstance(part, report.Table) for part in section.parts), "a figure for each family"
    assert [text.index(f"<h2>{name}:") for name in demo.ORDER] == sorted(
        text.index(f"<h2>{name}:") for name in demo.ORDER
    )
    assert text.count("<svg") == 1 + sum(not isinstance(part, report.Table) for one in told for part in one.parts)


def test_law_nothing_is_trained_twice(plan: Plan, done: tuple[demo.Demo, list[Section], int]) -> None:
    first, told, _ = done
    again, retold, events = whole(plan, first.report.parent)
    assert (again.rows, events) == (first.rows, 0)
    assert [section.lines for section in retold] == [section.lines for section in told]


def test_smoke_without_matplotlib_the_page_has_its_tables(
    plan: Plan, done: tuple[demo.Demo, list[Section], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, told, _ = done
    monkeypatch.setattr(page, "find_spec", lambda name: None)
    page.write(tmp_path / "plain.html", told, found.rows, reviews.read(plan))
    text = (tmp_path / "plain.html").read_text(encoding="utf-8")
    assert "<svg" not in text and all(f"<h2>{name}:" in text for name in NAMES)


def test_known_without_qiskit_one_line_says_which_extra(
    plan: Plan, done: tuple[demo.Demo, list[Section], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, told, _ = done
    whole_import = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith(("psitext.experiments.circuits", "psitext.quantum")):
            raise UserError("circuits need qiskit and its simulator: pip install 'psitext[quantum]'")
        return whole_import(name, *rest)

    def show(title: str) -> Any:
        raise AssertionError("nothing is left to train")

    @contextmanager
    def silent(title: str) -> Iterator[Callable[[Event], None]]:
        yield lambda event: show(title)

    monkeypatch.setattr(builtins, "__import__", missing)
    section = qbert.section(plan, reviews.read(plan), found.report.parent, silent)
    assert section.lines[-1].endswith("pip install 'psitext[quantum]'.")
    assert section.lines[:-1] == told[-1].lines[:-1]
    assert not any("circuit" in part.title for part in section.parts)


def test_known_readings_are_big_endian() -> None:
    amplitudes = torch.zeros(1, 8)
    amplitudes[0, 6], amplitudes[0, 1] = 2.0, 1.0  # |110> and |001>
    found = qbert.likeliest(SentenceState(amplitudes))[:2]
    assert [state for state, _ in found] == ["|110>", "|001>"]
    assert [chance for _, chance in found] == pytest.approx([0.8, 0.2])


def test_known_the_two_sentences_have_the_same_words() -> None:
    first, second = (sorted(text.rstrip(".").lower().split()) for text in SAME_WORDS)
    assert first == second and SAME_WORDS[0] != SAME_WORDS[1]


def test_known_a_model_that_is_not_there_stops_it_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "qbert-tiny").mkdir()  # a folder here goes before a model that comes along
    done = door.run("demo", "--out", "shown", cwd=tmp_path, env=door.environment())
    assert done.code == 2 and "qbert-tiny" in done.err and done.err.count("\n") == 1
    assert not (tmp_path / "shown").exists()


def test_known_a_demo_of_other_rows_and_a_place_that_cannot_be_written(
    plan: Plan, done: tuple[demo.Demo, list[Section], int], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="holds a demo of 48 rows; give --out another folder, or the same --rows"):
        whole(replace(plan, rows=47), done[0].report.parent)
    with pytest.raises(UserError, match="cannot write"):
        whole(plan, tmp_path / "file")
