"""Charts of the page as SVG, as narrow as a phone can show them; the ink is that of the text around, light or dark.

Letters: N sentences, D amplitudes, n qubits, M outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from psitext.experiments.results import figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
WIDTH = 4.6  # inches: on a phone the letters are still three quarters as high


def probabilities(probs: Floats, names: Sequence[str]) -> str:
    """(N, D) probabilities of basis states, a panel for each sentence, all to one scale."""
    with figures.style():
        figure = _blank(0.7 + 1.05 * len(probs))
        panels = figure.subplots(len(probs), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        places = np.arange(probs.shape[1])
        for axes, row, name in zip(panels, probs, names, strict=True):
            axes.bar(places, row, width=1.0, color=figures.COLOURS[0])
            axes.set_title(figures.one_line(name), loc="left", fontsize=9)
            axes.margins(x=0.01)
        panels[-1].set(xlabel="basis state")
        figure.supylabel("probability", fontsize=10)
        return figures.as_svg(figure, f"probabilities of {probs.shape[1]} basis states of: {'; '.join(names)}")


def entropies(bits: Floats, names: Sequence[str]) -> str:
    """(N, n - 1) entropies at the cuts after 1 to n - 1 qubits, under the most that there could be."""
    from matplotlib.ticker import MaxNLocator

    cuts = np.arange(1, bits.shape[1] + 1)
    with figures.style():
        figure = _blank(2.8 + 0.1 * len(names))
        axes = figure.add_subplot()
        bound = np.minimum(cuts, bits.shape[1] + 1 - cuts)
        axes.plot(cuts, bound, color=figures.INK, alpha=0.5, linewidth=1, linestyle=":", label="most possible")
        for place, (row, name) in enumerate(zip(bits, names, strict=True)):
            colour, dash, marker = figures.look(place)
            axes.plot(cuts, row, color=colour, linestyle=dash, marker=marker, label=figures.one_line(name))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set(xlabel="qubits before the cut", ylabel="entropy (bits)", ylim=(0, None))
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=9)
        return figures.as_svg(figure, f"entanglement entropy by cut of: {'; '.join(names)}")


def outcomes(exact: Floats, counted: Floats, shots: int) -> str:
    """(M,) probabilities of outcomes as bars, and (M,) shares of shots as points."""
    places = np.arange(len(exact))
    with figures.style():
        figure = _blank(2.8)
        axes = figure.add_subplot()
        axes.bar(places, exact, width=1.0 if len(exact) > 40 else 0.8, color=figures.COLOURS[0], label="exact")
        size = 5.0 if len(exact) <= 40 else 2.5
        told = f"{shots:,} shots"
        axes.plot(places, counted, color=figures.COLOURS[1], linestyle="", marker="D", markersize=size, label=told)
        axes.margins(x=0.01)
        axes.set(xlabel="outcome", ylabel="probability", ylim=(0, None))
        figures.legend(axes, 2)
        return figures.as_svg(figure, f"probabilities of {len(exact)} outcomes, exact and from {told}")


def _blank(height: float) -> Figure:
    figure = figures.blank(height)
    figure.set_size_inches(WIDTH, height)
    return figure
