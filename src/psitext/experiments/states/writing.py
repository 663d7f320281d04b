"""Sentence kets as a file: JSON, CSV, a picture, or a page of HTML that needs nothing else."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from psitext.experiments.results import report, stamp
from psitext.experiments.states.drawing import draw, named
from psitext.explain.ket.portrait import Portrait
from psitext.files import write_atomic

CURVES = 8  # sentences that get a curve each on a page
MATRIX = 30  # sentences whose fidelities are a table on a page


def write(
    path: Path, found: Portrait, texts: Sequence[str], model: str, costs: Mapping[str, Mapping[str, int]] | None = None
) -> None:
    """Write ``found`` as the ending of ``path`` says: .json, .csv, .svg, .png or .html.

    ``costs`` are the gates of preparations by name, for JSON and HTML.
    """
    if path.suffix in (".svg", ".png"):
        draw(found, texts, path)
    elif path.suffix == ".csv":
        write_atomic(path, table(found, texts))
    elif path.suffix == ".json":
        write_atomic(path, json.dumps(record(found, texts, model, costs), ensure_ascii=False, indent=1) + "\n")
    else:
        report.write_report(page(found, texts, model, costs), path)


def record(
    found: Portrait, texts: Sequence[str], model: str, costs: Mapping[str, Mapping[str, int]] | None = None
) -> dict[str, Any]:
    """Everything as plain values."""
    return {"model": model, **found.record(texts), **({} if costs is None else {"preparation": costs})}


def table(found: Portrait, texts: Sequence[str]) -> str:
    """CSV: a row for every sentence, its fidelities with all of them in the last columns."""
    rows = found.rows(texts)
    for row, values in zip(rows, found.fidelities.tolist(), strict=True):
        row |= {f"fidelity with {place}": value for place, value in enumerate(values, 1)}
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def page(
    found: Portrait, texts: Sequence[str], model: str, costs: Mapping[str, Mapping[str, int]] | None
) -> report.Report:
    """Curves, the table of sentences, fidelities, and what preparation costs."""
    rows = found.rows(texts)
    bits = found.entropy_bits
    curves = dict(zip(named(texts), bits.tolist(), strict=True))
    if len(texts) > CURVES:
        curves = {"mean": bits.mean(0).tolist(), "least": bits.amin(0).tolist(), "most": bits.amax(0).tolist()}
    curves["random kets"] = list(found.random_bits)
    parts: list[Any] = [
        report.Curves(
            title="Entanglement by cut",
            curves={name: [(float(cut), value) for cut, value in enumerate(row, 1)] for name, row in curves.items()},
            x="qubits before the cut",
            y="entropy (bits)",
        ),
        report.Table(title="Sentences", columns=list(rows[0]), rows=[list(row.values()) for row in rows]),
    ]
    if len(texts) <= MATRIX:
        matrix = [[str(place), *row] for place, row in enumerate(found.fidelities.tolist(), 1)]
        columns = ["", *(str(place) for place in range(1, len(texts) + 1))]
        parts.append(report.Table(title="Fidelities, by the sentences' numbers", columns=columns, rows=matrix))
    if costs is not None:
        cost_rows: list[list[str | int | float | None]] = [[name, *counts.values()] for name, counts in costs.items()]
        columns = ["", *next(iter(costs.values()))]
        note = "Gates in rz, sx, x and cx, of a generic ket of as many qubits."
        parts.append(report.Table(title="Preparation", columns=columns, rows=cost_rows, note=note))
    return report.Report(
        title="Sentences as kets", lead=f"{model}: {found.says}.", parts=parts, versions=stamp.versions()
    )
