"""Sweeps from a protocol to tables and figures; done once, gone on with, and measured by independent means."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from psitext.errors import UserError
from psitext.experiments.queue import Queue, Variant
from psitext.experiments.results import lines, pages, sweeps
from psitext.experiments.sweep import ensemble, measure, reading
from psitext.experiments.sweep.protocol import Protocol, Sweep
from psitext.experiments.sweep.work import missing, named, pieces, work
from psitext.nn.scan.recurrence import models_at_once


def test_smoke_a_sweep_and_its_page(protocol: Protocol, tmp_path: Path) -> None:
    sweep = Sweep(protocol=protocol.model_copy(update={"init": "uniform"}), bonds=(1, 2, 3), restarts=3)
    file, told = tmp_path / "lines.jsonl", []
    assert work(sweep, file, tell=told.append) == 3
    assert work(sweep, file) == 0
    more = sweep.model_copy(update={"restarts": 4})
    assert len(missing(more, file)) == 3
    [curve] = sweeps.curves(lines.read(file))
    assert list(curve.restarts) == [1, 2, 3]
    assert all(len(some) == 3 for some in curve.restarts.values())
    assert len(sweeps.rows(curve)) == 3 and len(sweeps.rows(curve)[0]) == len(sweeps.HEAD)
    assert "chi" in sweeps.critical_line(curve)
    assert sweeps.left(curve).startswith("<svg") and sweeps.right(curve).startswith("<svg")
    assert sweeps.cosine(curve) is None
    for record in curve.restarts[1]:
        assert record["entropy bits"] <= 1.0 + 1e-9, "at most log2 of 1 + chi"
        assert np.sum(np.square(record["spectrum"])) == pytest.approx(1.0, abs=1e-5)


def test_law_two_processes_find_what_one_finds(protocol: Protocol, tmp_path: Path) -> None:
    sweep = Sweep(protocol=protocol, bonds=(1, 2), restarts=2)
    found = []
    for jobs in (1, 2):
        file = tmp_path / f"{jobs}.jsonl"
        work(sweep, file, jobs=jobs)
        found.append({line.task: line.notes["restarts"] for line in lines.read(file)})
    assert found[0] == found[1]


def test_known_pieces_fit_the_cache() -> None:
    for piece in pieces(Sweep(restarts=50)):
        assert 1 <= len(piece.seeds) <= max(1, min(25, models_at_once(128 * 50, piece.bond)))
    seeds = [seed for piece in pieces(Sweep(bonds=(40,), restarts=50)) for seed in piece.seeds]
    assert seeds == list(range(1, 51))


def test_law_entropy_by_law_does_not_depend_on_the_scale_of_words(protocol: Protocol) -> None:
    """And the paper's does, though the circuit computes the same."""
    protocol = protocol.model_copy(update={"words": "joint", "init": "uniform"})
    data = reading.read(protocol, None)
    weights = ensemble.fresh(protocol, 4, data.words, [1])
    scaled = weights | {"words": 5 * weights["words"], "inputs": weights["inputs"] / 5}
    ids = data.test.ids
    assert torch.allclose(ensemble.logits(weights, ids, None), ensemble.logits(scaled, ids, None), atol=1e-6)
    raw = [float(measure.entangled(protocol, data, None, each).entropy_bits) for each in (weights, scaled)]
    law = [float(measure.entangled(protocol, data, None, each, by_law=True).entropy_bits) for each in (weights, scaled)]
    assert law[0] == pytest.approx(law[1], abs=1e-6)
    assert abs(raw[0] - raw[1]) > 1e-3


def test_known_diverged_restarts_are_counted_and_never_averaged() -> None:
    from psitext.experiments.sweep.work import means

    good = {"seed": 1, "test accuracy": 0.8, "entropy bits": 1.0, "diverged": 0.0, "spectrum": [1.0]}
    bad = {"seed": 2, "test accuracy": 0.5, "entropy bits": None, "diverged": 1.0, "spectrum": [0.0]}
    found = means([good, bad])
    assert found == {"test accuracy": 0.8, "entropy bits": 1.0, "restarts": 2.0, "diverged": 1.0}
    curve = sweeps.Curve("x", {1: [good, bad], 2: [bad]})
    assert sweeps.rows(curve)[0][1] == "1 + 1"
    assert sweeps.rows(curve)[1][1] == "0 + 1"
    assert curve.values("test accuracy") == {1: [0.8], 2: []}
    assert math.isclose(sum(value**2 for value in curve.spectrum(1)), 1.0)


def test_known_clusters(protocol: Protocol, tmp_path: Path) -> None:
    sweep = Sweep(protocol=protocol, bonds=(1,), restarts=1)
    with pytest.raises(UserError, match="--cluster takes dask://host:port or ray://host:port"):
        work(sweep, tmp_path / "x.jsonl", cluster="slurm://x")


def test_law_protocols_in_one_file_are_never_mixed(protocol: Protocol, tmp_path: Path) -> None:
    file, other = tmp_path / "lines.jsonl", protocol.model_copy(update={"lr": 1e-3})
    for each, bonds in ((protocol, (1, 2)), (other, (2,))):
        work(Sweep(protocol=each, bonds=bonds, restarts=2), file)
    first, second = sweeps.curves(lines.read(file))
    assert list(first.restarts) == [1, 2] and list(second.restarts) == [2]
    assert first.name != second.name
    queue = Queue(title="one", runs=(Variant(name="x", how="sweep", tasks=(), sweep=Sweep(protocol=other)),))
    assert pages.section(queue, file).count("\n| 2 |") == 1
    both = [Variant(name=n, how="sweep", tasks=(), sweep=Sweep(protocol=p)) for n, p in (("x", protocol), ("y", other))]
    drawn = [f"figures/figure-2-{number}-left.svg" for number in (1, 2)]
    page = pages.section(Queue(title="both", runs=tuple(both)), file, drawn)
    assert [page.count(path) for path in drawn] == [1, 1], "each under its own protocol"


def test_known_names_say_what_is_not_usual() -> None:
    usual = Protocol()
    assert named(usual) == "imdb, T = 50, fixed words, d_I = 4"
    other = usual.model_copy(update={"task": "rt", "keep": "last", "init": "sum", "biases": False})
    assert named(other) == "rt, T = 50, last words, fixed words, d_I = 4, sum start, no biases"


def test_known_circuits_without_biases_stay_where_they_are(protocol: Protocol, tmp_path: Path) -> None:
    """Footnote 10: every state is 0, so that all texts have one log-odds, and training ends by the patience."""
    sweep = Sweep(protocol=protocol.model_copy(update={"biases": False}), bonds=(2,), restarts=2)
    work(sweep, tmp_path / "lines.jsonl")
    [line] = lines.read(tmp_path / "lines.jsonl")
    assert line.metrics["epochs"] <= protocol.patience + 1
    assert line.metrics["train accuracy"] == pytest.approx(0.5, abs=0.06)
    queue = Queue(title="one", runs=(Variant(name="x", how="sweep", tasks=(), sweep=sweep),))
    assert pages.drawings(queue, tmp_path / "lines.jsonl") == {}, "one size makes no figure"


def test_law_changed_rows_are_another_sweep(protocol: Protocol, tmp_path: Path) -> None:
    file, sweep = tmp_path / "lines.jsonl", Sweep(protocol=protocol, bonds=(1,), restarts=1)
    work(sweep, file)
    assert work(sweep, file) == 0
    task = Path("sentiment.toml")
    task.write_text(task.read_text().replace("toy:reviews:400", "toy:reviews:390"))
    with pytest.raises(UserError, match="were made from other rows of"):
        work(sweep, file)


def test_known_all_restarts_diverged(protocol: Protocol, tmp_path: Path) -> None:
    sweep = Sweep(protocol=protocol.model_copy(update={"lr": 1e30}), bonds=(1, 2), restarts=2)
    work(sweep, tmp_path / "lines.jsonl")
    [curve] = sweeps.curves(lines.read(tmp_path / "lines.jsonl"))
    assert [row[1] for row in sweeps.rows(curve)] == ["0 + 2", "0 + 2"]
    assert sweeps.right(curve) is None
    assert sweeps.left(curve).startswith("<svg")


def test_known_nothing_is_trained_that_could_not_be_kept(protocol: Protocol, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    told: list[str] = []
    with pytest.raises(UserError):
        work(Sweep(protocol=protocol, bonds=(1,), restarts=1), tmp_path / "file" / "lines.jsonl", tell=told.append)
    assert not any("word vectors" in text for text in told)
