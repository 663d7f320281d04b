"""Points in a plane as SVG: a mark and a colour for each label, rings around the chosen, every text at its point."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from psitext.experiments.results.figures import COLOURS
from psitext.studio.shown.markup import text

Floats = npt.NDArray[np.float64]
WIDTH, HEIGHT, EDGE = 560, 420, 18  # pixels
KINDS = 2 * len(COLOURS)  # labels that have a look of their own; the others share one
OTHERS = "other labels"
SHORT = 120  # characters of a text that are told at its point
# Around (0, 0); four marks in the first four colours, then the same marks hollow.
MARKS = (
    '<circle cx="{x}" cy="{y}" r="4"/>',
    '<rect x="{x0}" y="{y0}" width="7" height="7"/>',
    '<path d="M {x} {y1} l 4.5 8 h -9 z"/>',
    '<path d="M {x} {y1} l 5 5 l -5 5 l -5 -5 z"/>',
)


def points(at: Floats, texts: Sequence[str], labels: Sequence[str] | None, chosen: Sequence[int], title: str) -> str:
    """(N, 2) points with their texts, coloured by label; the ``chosen`` are ringed and numbered from 1."""
    places = _fitted(at)
    kinds = named(labels)
    marks = [
        _mark(places[number], 0 if labels is None else _kind(labels[number], kinds), _told(texts, labels, number))
        for number in range(len(places))
    ]
    rings = [_ring(places[number], rank) for rank, number in enumerate(chosen, 1)]
    drawing = (
        f'<svg role="img" aria-label="{text(title)}" class="psi-plane" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}">{"".join(marks)}{"".join(rings)}</svg>'
    )
    return _legend(kinds) + drawing


def named(labels: Sequence[str] | None) -> list[str]:
    """The labels that have a look of their own, the most frequent first, and what the others are called."""
    if labels is None:
        return []
    common = [name for name, _ in Counter(labels).most_common()]
    return common if len(common) <= KINDS else [*common[: KINDS - 1], OTHERS]


def _kind(label: str, kinds: Sequence[str]) -> int:
    return kinds.index(label) if label in kinds else len(kinds) - 1


def _fitted(at: Floats) -> Floats:
    """The points inside the picture, both axes to one scale: t-SNE's own directions mean nothing."""
    low, high = at.min(0), at.max(0)
    room = np.array([WIDTH, HEIGHT]) - 2 * EDGE
    spread = high - low
    scale = float(np.min(room / np.where(spread > 0, spread, 1.0)))
    return np.asarray((at - (low + high) / 2) * scale + np.array([WIDTH, HEIGHT]) / 2)


def _mark(place: Floats, kind: int, told: str) -> str:
    x, y = (round(float(value), 1) for value in place)
    shape = MARKS[kind % len(MARKS)].format(x=x, y=y, x0=round(x - 3.5, 1), y0=round(y - 3.5, 1), y1=round(y - 5, 1))
    return f'<g class="psi-kind-{kind % KINDS}"><title>{text(told)}</title>{shape}</g>'


def _told(texts: Sequence[str], labels: Sequence[str] | None, number: int) -> str:
    short = texts[number] if len(texts[number]) <= SHORT else texts[number][: SHORT - 1] + "…"
    return short if labels is None else f"{labels[number]}: {short}"


def _ring(place: Floats, rank: int) -> str:
    x, y = (round(float(value), 1) for value in place)
    right = x < WIDTH - 40
    side, anchor = (x + 11, "start") if right else (x - 11, "end")
    return (
        f'<g class="psi-ring"><circle cx="{x}" cy="{y}" r="9"/>'
        f'<text x="{side}" y="{y + 4}" text-anchor="{anchor}">{rank}</text></g>'
    )


def _legend(kinds: Sequence[str]) -> str:
    items = "".join(
        f'<li><svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">'
        f"{_mark(np.array([6.0, 6.0]), number, '')}</svg> {text(name)}</li>"
        for number, name in enumerate(kinds)
    )
    return f'<ul class="psi-legend">{items}</ul>' if items else ""
