"""Scores as tables on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer
from rich.console import Console
from rich.table import Table

from psitext.score.statistics import summary

Scores = Mapping[str, Mapping[str, float]]  # split -> metric -> value


def score_table(results: Sequence[Scores]) -> None:
    """Every split and metric of one or several seeds: the value, or mean, deviation and a bootstrap interval."""
    table = Table(
        "split",
        "metric",
        *(["value"] if len(results) == 1 else ["mean", "sd", "median", "95 % interval", "seeds"]),
    )
    for split, metrics in results[0].items():
        for name in metrics:
            if name == "collapsed":
                continue
            values = [result[split][name] for result in results]
            table.add_row(split, name, *_cells(values))
    Console().print(table)
    for split in results[0]:
        count = sum(bool(result[split].get("collapsed")) for result in results)
        if count:
            typer.echo(f"COLLAPSED on {split} in {count} of {len(results)}: every prediction is the same")


def rows_table(rows: Sequence[Mapping[str, object]]) -> None:
    """Records of one shape as a table, numbers with four digits."""
    table = Table(*rows[0].keys())
    for row in rows:
        table.add_row(*(f"{value:.4f}" if isinstance(value, float) else str(value) for value in row.values()))
    Console().print(table)


def _cells(values: Sequence[float]) -> list[str]:
    if len(values) == 1:
        return [f"{values[0]:.4f}"]
    found = summary(values)
    return [
        f"{found.mean:.4f}",
        f"{found.sd:.4f}",
        f"{found.median:.4f}",
        f"{found.low:.4f} to {found.high:.4f}",
        str(found.n),
    ]
