"""Sentence kets as a picture: entropy at every cut beside the matrix of fidelities.

SVG looks as every figure of psitext does (``results/figures.py``); PNG is black on white.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psitext.experiments.results import figures
from psitext.explain.ket.portrait import Portrait

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FEW = 8  # sentences that get a curve each; of more their mean and range are drawn
NUMBERS = 10  # sentences whose fidelities still have room for their numbers
LETTERS = 28  # of a sentence beside a curve


def draw(found: Portrait, texts: Sequence[str], path: Path) -> None:
    """Write the picture of B sentences as ``path`` (.svg or .png)."""
    with figures.style():
        figure = figures.blank(4.2)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        _entropies(left, found, texts)
        _fidelities(figure, right, found)
        description = f"entanglement of {len(texts)} sentences by cut, and their fidelities: {found.says}"
        figures.write(figure, path, description)


def named(texts: Sequence[str]) -> list[str]:
    """Numbers from 1 and the beginnings of sentences."""
    lines = [figures.one_line(text) for text in texts]
    return [
        f"{place} {line if len(line) <= LETTERS else line[: LETTERS - 1] + '…'}" for place, line in enumerate(lines, 1)
    ]


def _entropies(axes: Axes, found: Portrait, texts: Sequence[str]) -> None:
    from matplotlib.ticker import MaxNLocator

    cuts, bits = np.arange(1, found.qubits), found.entropy_bits.numpy()
    if len(texts) <= FEW:
        for place, (name, row) in enumerate(zip(named(texts), bits, strict=True)):
            colour, dash, marker = figures.look(place)
            axes.plot(cuts, row, color=colour, linestyle=dash, marker=marker, label=name)
    else:
        colour, dash, marker = figures.look(0)
        axes.plot(cuts, bits.mean(0), color=colour, linestyle=dash, marker=marker, label=f"mean of {len(texts):,}")
        axes.fill_between(cuts, bits.min(0), bits.max(0), color=colour, alpha=0.18, linewidth=0, label="all")
    axes.plot(cuts, found.random_bits, color=figures.INK, linewidth=1, alpha=0.5, label="random kets")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set(xlabel="qubits before the cut", ylabel="entropy (bits)", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8)


def _fidelities(figure: Figure, axes: Axes, found: Portrait) -> None:
    values = found.fidelities.numpy()
    count = len(values)
    edges = np.arange(count + 1) + 0.5
    shown = axes.pcolormesh(edges, edges, values, cmap="cividis", vmin=0, vmax=1, rasterized=count > 60)
    if count <= NUMBERS:
        for (row, column), value in np.ndenumerate(values):
            ink = "black" if value > 0.5 else "white"
            axes.text(column + 1, row + 1, f"{value:.2f}", ha="center", va="center", fontsize=8, color=ink)
        axes.set_xticks(range(1, count + 1))
        axes.set_yticks(range(1, count + 1))
    axes.invert_yaxis()
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.set(xlabel="sentence", ylabel="sentence")
    figure.colorbar(shown, ax=axes, label="fidelity", shrink=0.8)
