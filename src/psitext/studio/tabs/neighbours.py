"""The sentences of a file on a map, and those nearest to a question.

A map belongs to the file and the model, not to the question, which is not on it: what is nearest is ringed. It is made
once, and kept for the next questions. Letters: N sentences, D numbers of a state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from psitext.errors import UserError
from psitext.explain.latent.neighbours import nearest
from psitext.model import Model
from psitext.state import Posterior
from psitext.studio import bounds
from psitext.studio.models import NEIGHBOURS, STATES, Shelf
from psitext.studio.shown import markup, plane
from psitext.studio.work import Studio
from psitext.text.cells.columns import no_column
from psitext.text.rows import Row, rows

Floats = npt.NDArray[np.float64]
TEXTS = ("text", "sentence", "review", "title", "question", "comment")  # columns that are looked for by name
LABELS = ("label", "labels", "class", "category", "sentiment", "topic", "genre", "target")
FEWEST = 5  # sentences of a map
PERPLEXITY = 30.0  # of t-SNE; a third of the sentences where these are fewer
MOST = 20  # neighbours
KEPT = 8  # maps
AVERAGED = (
    "Compared are the means of the token vectors: this model's own sentence vector, which the States tab shows, was "
    "trained to tell the next sentence from another, and not to be near what means the same."
)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The sentences of a file, in their order."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] | None
    more: bool  # the file has more rows than are read
    empty: int  # rows without a text, which were left out
    text: str  # the columns
    label: str | None


@dataclass(frozen=True, slots=True, eq=False)
class Charted:
    """A crowd as states and as points."""

    states: torch.Tensor  # (N, D) real: imaginary parts after real ones
    points: Floats | None  # (N, 2); None of too few


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The sentences nearest to a question, the nearest first."""

    question: str
    crowd: Crowd
    points: Floats | None
    nearest: tuple[int, ...]
    cosine: tuple[float, ...]
    averaged: bool = False  # states are means of token vectors, which are not the model's own sentence vector


def crowd(path: Path, text: str = "", label: str = "") -> Crowd:
    """Read a file of sentences; columns that are not named are found by their usual names, the text also as the
    longest one.

    Errors: as ``rows``, by the file's name alone; an ending that is not read; no such column; no text at all.
    """
    if path.suffix not in bounds.FILES:
        raise UserError(f"{path.name!r} is not read here; {', '.join(bounds.FILES)} are")
    if path.stat().st_size > bounds.FILE_BYTES:
        has, most = bounds.size(path.stat().st_size), bounds.size(bounds.FILE_BYTES)
        raise UserError(f"{path.name} has {has}; at most {most} are read")
    try:
        some = list(islice(rows(path, limit=bounds.CHARACTERS, ragged=True), bounds.ROWS + 1))
    except UserError as error:
        raise UserError(str(error).replace(str(path), path.name)) from None
    more, some = len(some) > bounds.ROWS, some[: bounds.ROWS]
    columns = list(dict.fromkeys(name for row in some for name in row.fields))
    text = text.strip() or _text_column(some, columns)
    label = label.strip() or next((name for name in LABELS if name in columns and name != text), "")
    for name in (bounds.whole(one, "a column's name") for one in (text, label) if one):
        if name not in columns:
            raise no_column(path.name, name, columns)
    kept = [row for row in some if row.fields.get(text, "").strip()]
    if not kept:
        raise UserError(f"the column {text!r} of {path.name} holds no text")
    labels = tuple(row.fields.get(label, "").strip() or "(none)" for row in kept) if label else None
    texts = tuple(row.fields[text].strip() for row in kept)
    return Crowd(texts, labels, more, len(some) - len(kept), text, label or None)


def _text_column(some: Sequence[Row], columns: Sequence[str]) -> str:
    named = next((name for name in TEXTS if name in columns), None)
    if named is not None:
        return named
    size: Counter[str] = Counter()
    for row in some:
        size.update({name: len(value) for name, value in row.fields.items()})
    return max(columns, key=size.__getitem__)


def chart(model: Model, texts: Sequence[str], seed: int = 0) -> Charted:
    """States of N texts, and t-SNE's points of them (van der Maaten and Hinton 2008)."""
    states = model.encode(texts).to_real().double()
    if not bool(states.isfinite().all()):
        raise UserError("the model's states of these sentences are not finite; it has diverged in training")
    if len(texts) < FEWEST or len(np.unique(states.numpy(), axis=0)) < FEWEST:
        return Charted(states, None)
    from sklearn.manifold import TSNE

    start = "pca" if states.shape[1] > 1 else "random"
    few = min(PERPLEXITY, (len(texts) - 1) / 3)
    made = TSNE(perplexity=few, init=start, random_state=seed, n_jobs=1).fit_transform(states.numpy())
    return Charted(states, np.asarray(made, dtype=np.float64))


def find(model: Model, charted: Charted, given: Crowd, question: str, top: int, averaged: bool = False) -> Found:
    """The ``top`` nearest by the cosine of states. Errors: as ``Model.encode``."""
    asked = model.encode([question]).to_real().double()
    among = charted.states
    near_ones = nearest(_certain(asked), _certain(among), top)
    cosine = tuple(1 - distance for distance in near_ones.distance[0].tolist())
    return Found(question, given, charted.points, tuple(near_ones.index[0].tolist()), cosine, averaged)


def _certain(states: torch.Tensor) -> Posterior:
    return Posterior(states, torch.zeros_like(states))


def told(found: Found) -> str:
    """Neighbours and the map as HTML."""
    given = found.crowd
    head = ("rank", "cosine", "sentence") + (() if given.labels is None else (given.label or "label",))
    listed = []
    for rank, (at, cosine) in enumerate(zip(found.nearest, found.cosine, strict=True), 1):
        listed.append([rank, cosine, given.texts[at], *([] if given.labels is None else [given.labels[at]])])
    parts = [markup.heading("Nearest sentences"), markup.table(f"Nearest to “{found.question}”", head, listed)]
    parts.append(markup.paragraph(_read(given), small=True))
    parts += [markup.paragraph(AVERAGED, small=True)] if found.averaged else []
    if found.points is None:
        parts.append(markup.paragraph(f"A map takes {FEWEST} different sentences at least."))
        return markup.answer(*parts)
    count = len(given.texts)
    title = f"{count:,} sentences in the plane by t-SNE, the nearest ringed"
    drawn = plane.points(found.points, given.texts, given.labels, found.nearest, title)
    caption = (
        f"{count:,} sentences in the plane by t-SNE; the ringed ones are the nearest, by rank. It keeps neighbours, "
        "not distances, and finds clusters in noise, too. Point at a mark to read its sentence."
    )
    return markup.answer(*parts, markup.heading("Map"), markup.figure(drawn, caption))


def _read(given: Crowd) -> str:
    said = f"{len(given.texts):,} sentences of the column {given.text!r}"
    said += "" if given.label is None else f", labels of the column {given.label!r}"
    said += f"; the rows after the first {bounds.ROWS:,} are left out" if given.more else ""
    return said + (f"; {given.empty:,} rows without a text are left out." if given.empty else ".")


class Atlas:
    """The last few maps, by model and texts; only the worker asks."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, tuple[str, ...]], Charted] = {}

    def chart(self, name: str, model: Model, texts: tuple[str, ...]) -> Charted:
        """A map that is kept, or a new one."""
        key = (name, texts)
        found = self._made.pop(key, None) or chart(model, texts)
        self._made[key] = found  # as the newest
        while len(self._made) > KEPT:
            del self._made[next(iter(self._made))]
        return found


def told_near(shelf: Shelf, atlas: Atlas, name: object, given: Crowd, question: str, top: int) -> str:
    """The answer of the tab: the map and the nearest sentences. Errors: no model of that name; as ``find``."""
    model = shelf.model(name, NEIGHBOURS)
    charted = atlas.chart(str(name), model, given.texts)
    return told(find(model, charted, given, question, top, averaged=model is not shelf.model(name, STATES)))


def lay(studio: Studio) -> None:
    """The tab."""
    import gradio as gr

    atlas = Atlas()

    def work(name: object, file: object, question: object, top: object, text: object, label: object) -> str:
        path = bounds.uploaded(file)
        studio.shelf.model(name, NEIGHBOURS)
        asked = bounds.sentence(question, "the question")
        count = bounds.integer(top, 1, MOST, "the number of neighbours")
        columns = bounds.typed(text, "the column of the text"), bounds.typed(label, "the column of labels")
        given = crowd(path, *columns)
        return told_near(studio.shelf, atlas, name, given, asked, count)

    with gr.Tab("Neighbours", id=NEIGHBOURS):
        told_bounds = f"at most {bounds.size(bounds.FILE_BYTES)} and {bounds.ROWS:,} rows"
        gr.Markdown(
            "The sentences of your file on a map, and those nearest to a question. The file stays here: "
            f"{', '.join(bounds.FILES)}, {told_bounds}."
        )
        names = studio.shelf.names(NEIGHBOURS)
        model = gr.Dropdown(names, value=names[0], label="Model", elem_id="neighbours-model")
        file = gr.File(
            label="File of sentences", file_types=list(bounds.FILES), type="filepath", height=160,
            elem_id="neighbours-file",
        )  # fmt: skip
        question = gr.Textbox("a gripping, funny film", label="Nearest to", elem_id="neighbours-question")
        top = gr.Slider(1, MOST, value=5, step=1, label="How many", elem_id="neighbours-top")
        with gr.Row():
            text = gr.Textbox(label="Column of the text", placeholder="found by itself", elem_id="neighbours-text")
            label = gr.Textbox(label="Column of labels", placeholder="found by itself", elem_id="neighbours-label")
        button = gr.Button("Find", variant="primary", elem_id="neighbours-go")
        shown = gr.HTML(elem_id="neighbours-shown")
        studio.ask(work, (model, file, question, top, text, label), shown, NEIGHBOURS, button.click, question.submit)
