"""From a run to a model that ships, and what its card says; on runs that take a second."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import toys
from psitext.config import recipe_names
from psitext.errors import UserError
from psitext.experiments.pretrain import pretrain_run
from psitext.experiments.queue.plan import jobs, queue_names, read_queue
from psitext.experiments.results import lines
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.runs.folder import RunFolder
from psitext.experiments.runs.recipes import resolve_recipe
from psitext.experiments.shipping import packing
from psitext.experiments.shipping.card import SOURCES, Origin, origin, sources, vocabulary
from psitext.experiments.shipping.plan import SHIPS, Headline, Ship, ship
from psitext.model import load, shipped
from psitext.model.shipped import catalog

STEPS = ["train.steps=6", "train.evaluate_every=3"]
SMALL = Ship(
    name="small", verb="pretrain", pool="mean", purpose="For tests.", limits=("It knows nothing.",),
    headline=Headline("shipped/encoders", "small", "stsb", "dev", "pearson"), queues=("shipped/encoders",),
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    pretrain_run(toys.pretraining(STEPS), folder / "small")
    return folder


def line(score: float, **changed: object) -> ResultLine:
    given: dict[str, object] = {
        "run": "small", "task": "stsb", "split": "dev", "metrics": {"pearson": score}, "recipe": "0" * 12, "seed": 1,
        "rows": {"train": 10, "dev": 5},
        "seconds": 1.0, "threads": 1, "commit": "unknown", "versions": {"torch": "2"}, "finished": lines.now(),
    }  # fmt: skip
    return ResultLine.model_validate(given | changed)


def test_known_card_and_facts(runs: Path, tmp_path: Path) -> None:
    path = packing.pack(SMALL, runs / "small", tmp_path / "small", tmp_path / "results")
    text = (path / catalog.CARD).read_text(encoding="utf-8")
    found = origin(RunFolder(runs / "small"))
    assert found.held_out.keys() == {"loss words", "loss next", "accuracy words", "accuracy next"}
    for part in (
        "# small",
        "For tests.",
        "200 generated stories of the embedded corpus, psitext's own (Apache-2.0)",
        f"hash {found.facts['recipe']}, seed 0",
        f"6 steps, {found.result['counters']['tokens']:,} tokens",
        "sentence vector: mean",
        f"- loss words: {found.held_out['loss words']:.4g}",
        "- It knows nothing.",
    ):
        assert part in text
    assert "###" not in text  # nothing has judged it
    model = load(path)
    assert model.encoder.config.pool == "mean" and model.head is None
    assert model.facts[catalog.TEXT] == "generated stories"
    assert model.facts[catalog.SCORE] == f"held-out loss words {found.held_out['loss words']:.3f}"


def test_known_scores_come_from_result_lines(runs: Path, tmp_path: Path) -> None:
    results = tmp_path / "results" / "shipped-encoders.jsonl"
    for score, changed in ((0.5, {}), (0.7, {"seed": 2}), (0.9, {"run": "another"}), (0.1, {"task": "sst2"})):
        lines.append(results, line(score, **changed))
    path = packing.pack(SMALL, runs / "small", tmp_path / "small", results.parent)
    assert load(path).facts[catalog.SCORE] == "stsb dev pearson 0.600"
    text = (path / catalog.CARD).read_text(encoding="utf-8")
    assert "| small | 0.600 ± 0.141 (2) | 0.100 |" in text
    assert f"### {read_queue('shipped/encoders').title}" in text


def test_law_judged_again_is_packed_again(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New lines on a card, without its run, are what packing with them writes; and judging twice changes nothing."""
    monkeypatch.setattr(packing, "ship", lambda name: SMALL)
    results = tmp_path / "results" / "shipped-encoders.jsonl"
    for score in (0.5, 0.7):
        lines.append(results, line(score, seed=int(10 * score)))
        packed = packing.pack(SMALL, runs / "small", tmp_path / "packed", results.parent)
        again = packing.pack(SMALL, runs / "small", tmp_path / "again" / "small", None)
        for _ in range(2):
            packing.judge_again(again.parent, results.parent, ["small"], print)
            for file in (file for file in packed.rglob("*") if file.is_file()):
                assert (again / file.relative_to(packed)).read_bytes() == file.read_bytes()


def test_law_packing_again_changes_nothing(runs: Path, tmp_path: Path) -> None:
    first = packing.pack(SMALL, runs / "small", tmp_path / "one", None)
    again = packing.pack(SMALL, runs / "small", tmp_path / "two", None)
    packing.pack(SMALL, runs / "small", again, None)
    assert {file.relative_to(first): file.read_bytes() for file in first.rglob("*") if file.is_file()} == {
        file.relative_to(again): file.read_bytes() for file in again.rglob("*") if file.is_file()
    }


def test_law_only_text_that_may_ship_ships(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is trained on the books and the embedded corpus, not on"):
        packing.pack(SMALL, toys.trained("words"), tmp_path / "small", None)
    assert not (tmp_path / "small").exists()


def test_law_a_run_that_has_not_finished_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no"):
        packing.pack(SMALL, tmp_path, tmp_path / "small", None)


def test_law_what_is_missing_is_trained_and_only_that(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []

    def train(wanted: Ship, out: Path, data: Path | None) -> None:
        trained.append(wanted.name)
        pretrain_run(toys.pretraining(STEPS), out / wanted.name)

    start = Ship(name="start", verb="pretrain")
    monkeypatch.setattr(packing, "SHIPS", (SMALL, start))
    monkeypatch.setattr(packing, "train", train)
    monkeypatch.setattr(catalog, "FOLDER", tmp_path / "shipped")
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "small").symlink_to(runs / "small")
    told: list[str] = []
    say: Callable[[str], None] = told.append
    packing.make(tmp_path / "runs", None, None, [], say)
    assert trained == ["start"]
    assert shipped.names() == ["small"]
    assert told[-1].startswith("start: training") and told[0] == f"small: {tmp_path / 'shipped' / 'small'}"


def test_law_the_plan_fits_its_recipes_and_queues() -> None:
    for one in SHIPS:
        assert one.recipe in recipe_names()
        recipe = resolve_recipe(one.verb, one.recipe)
        assert recipe.verb in ("pretrain", "finetune", "autoencode")
        assert all(start in {other.name for other in SHIPS} for start in (one.encoder, one.decoder, one.words) if start)
        assert bool(one.purpose) == bool(one.limits) == (one.headline is not None)
        names = [one.recipe] if recipe.verb == "finetune" else [n for part in recipe.corpus for n in part.files]  # type: ignore[union-attr]
        assert recipe.verb == "finetune" or all(name.partition(":")[0] in SOURCES for name in names)
        for name in one.queues:
            assert name in queue_names()
            runs = [(job.variant.name, job.task) for job in jobs(read_queue(name))]
            assert one.headline is not None and (one.headline.run, one.headline.task) in runs


def test_known_sources() -> None:
    for one, short in (
        ("bert-tiny", ["112 public-domain books", "generated stories"]),
        ("rac-tiny", ["generated reviews"]),
    ):
        wanted = ship(one)
        recipe = resolve_recipe(wanted.verb, wanted.recipe)
        found = Origin(recipe, {}, {}, {})  # type: ignore[arg-type]
        assert sources(found, terms=False) == short
        assert len(vocabulary(found)) == (2 if one == "rac-tiny" else 0)
        assert all("Apache-2.0" in text or "public domain" in text for text in sources(found, terms=True))
    with pytest.raises(UserError, match=r"'bert-tny'; did you mean 'bert-tiny'"):
        ship("bert-tny")


def test_smoke_the_module_says_what_is_wrong(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "psitext.experiments.shipping", "bert-tny", "--runs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("psitext: no model of `make models` is called 'bert-tny'; did you mean 'bert-tiny'")
