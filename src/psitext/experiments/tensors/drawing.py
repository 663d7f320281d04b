"""Entanglement as a picture: a state's profile and spectrum, a text's words and what is left to come after each.

SVG looks as every figure of psitext does (``results/figures.py``); PNG is black on white.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psitext.errors import UserError
from psitext.experiments.results import figures
from psitext.model.mps import Explanation, Mps

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh

ENDINGS = (".svg", ".png")
LEGIBLE = 60  # words that still have room for their names


def entanglement(state: Mps, path: Path) -> None:
    """Entropy at every cut under its bound, and the Schmidt coefficients in the middle, as ``path`` (.svg or .png)."""
    fast, schmidt = state.spectrum(), state.schmidt().numpy()
    with figures.style():
        from matplotlib.ticker import MaxNLocator

        figure = figures.blank(3.6)
        left, right = figure.subplots(1, 2, width_ratios=(3, 2))
        curves = (("entropy", fast.entropy_bits), ("bound", fast.bound_bits))
        for place, (name, values) in enumerate(curves):
            colour, dash, marker = figures.look(place)
            alone = marker if len(fast.bonds) == 1 else ""
            left.plot(fast.bonds, values.numpy(), color=colour, linestyle=dash, marker=alone, label=name)
        left.xaxis.set_major_locator(MaxNLocator(integer=True))
        left.set(xlabel="words before the cut", ylabel="bits", ylim=(0, None))
        figures.legend(left, len(curves))
        there = schmidt[schmidt > 0]
        right.plot(np.arange(1, len(there) + 1), there, color=figures.COLOURS[0], marker="o")
        right.set(xlabel=f"i, after {state.middle} words", ylabel="Schmidt coefficient", yscale="log")
        figures.plain_logarithm(right)
        title = f"entanglement of {state.length} words, {state.metric} metric: {state.says}"
        figures.write(figure, path, title)


def sentence(found: Explanation, path: Path, closing: int = 0) -> None:
    """A text's Shapley values, and under them the entropy at each later cut after each word, as ``path``.

    Errors: no word that the model knows.
    """
    if not found.words:
        raise UserError("the model knows no word of this text, so there is nothing to draw")
    count = len(found.entanglement_bits) + 1
    with figures.style():
        figure = figures.blank(2.6 + (0.0 if count < 2 else 4.0))
        if count < 2:
            _bars(figure.add_subplot(), found, closing)
        else:
            upper, lower = figure.subplots(2, 1, height_ratios=(2, 4), sharex=True)
            _bars(upper, found, closing)
            figure.colorbar(_map(lower, found), ax=(upper, lower), anchor=(0, 0), shrink=0.6, label="entropy (bits)")
        figures.write(figure, path, f"{found.says[closing]} by words: {' '.join(found.words)}")


def _bars(axes: Axes, found: Explanation, closing: int) -> None:
    values = found.shapley[closing].numpy()
    colours = [figures.COLOURS[0 if value >= 0 else 1] for value in values]
    axes.bar(np.arange(len(values)), values, color=colours, width=0.8)
    axes.axhline(0, color=figures.INK, linewidth=0.8)
    axes.set(ylabel="Shapley value", xlim=(-0.6, len(values) - 0.4))
    _name(axes, found)


def _map(axes: Axes, found: Explanation) -> QuadMesh:
    bits = found.entanglement_bits.numpy()
    size = len(bits)
    edges = np.arange(size + 1) - 0.5
    # What is before the words that were read stays empty; many cells are one picture, few are drawn.
    shown = axes.pcolormesh(edges, edges, np.ma.masked_invalid(bits), cmap="cividis", rasterized=size > LEGIBLE)
    axes.invert_yaxis()
    axes.grid(visible=False)
    axes.set(xlabel="cut after the word", ylabel="words read")
    _name(axes, found)
    return shown


def _name(axes: Axes, found: Explanation) -> None:
    if len(found.words) <= LEGIBLE:
        names = [figures.one_line(word) for word in found.words]
        axes.set_xticks(range(len(names)), names, rotation=60, ha="right", fontsize=8)
