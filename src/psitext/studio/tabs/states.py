"""Sentences as quantum states: Born probabilities, fidelities, entanglement across cuts between qubits.

Letters: N sentences, D amplitudes, n qubits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from psitext.model import Model
from psitext.studio import bounds
from psitext.studio.models import STATES
from psitext.studio.shown import figures, markup
from psitext.studio.work import Studio

Floats = npt.NDArray[np.float64]
EXAMPLE = "a gripping, funny film\na dull and slow film\nthe cat sat on the mat"
SHORT = 28  # characters of a sentence that name it in a figure


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """N sentences as kets; everything in double."""

    sentences: tuple[str, ...]
    probabilities: Floats  # (N, D)
    fidelities: Floats  # (N, N)
    entropy_bits: Floats  # (N, n - 1), after 1 to n - 1 qubits
    qubits: int  # n
    cut: tuple[bool, ...]  # the sentence is longer than the model reads
    unknown: tuple[str, ...] = ()  # what the vocabulary lacks, in the order of the sentences


def look(model: Model, sentences: Sequence[str]) -> Look:
    """Encode and measure. Errors: as ``Model.encode``; a state of norm 0."""
    state = model.encode(sentences)
    one = state.qubits < 2  # a single qubit has no cut
    entropies = np.zeros((len(sentences), 0)) if one else state.entropy_bits().numpy()
    return Look(
        tuple(sentences),
        state.probabilities().double().numpy(),
        state.fidelities().numpy(),
        entropies,
        state.qubits,
        tuple(model.longer(sentences)),
        unknown(model, sentences),
    )


def unknown(model: Model, sentences: Sequence[str]) -> tuple[str, ...]:
    """Words that the model's vocabulary lacks, each once, as they are spelt; signs beside each other are one word."""
    found: dict[str, None] = {}
    for one, (ids, places) in zip(sentences, model.tokenizer.encode_offsets(list(sentences)), strict=True):
        runs: list[list[int]] = []
        for begin, end in places[ids == model.tokenizer.unk].tolist():
            if runs and begin <= runs[-1][1]:
                runs[-1][1] = max(end, runs[-1][1])
            else:
                runs.append([begin, end])
        found |= dict.fromkeys(one[begin:end] for begin, end in runs)
    return tuple(found)


def told(found: Look) -> str:
    """A look as HTML."""
    names = markup.shortened(found.sentences, SHORT)
    width = found.probabilities.shape[1]
    parts = [
        markup.heading("Probabilities of the basis states"),
        markup.figure(
            figures.probabilities(found.probabilities, names),
            f"What a measurement of each state would read: one of {width} basis states ({found.qubits} qubits"
            f"{'' if width == 1 << found.qubits else ', the rest of which are zeros'}).",
        ),
        markup.table(
            "Most probable basis states", ("sentence", "most probable", "as bits", "probability", "states in use"),
            [_most(name, row, found.qubits) for name, row in zip(names, found.probabilities, strict=True)],
        ),
        markup.paragraph(
            "States in use: how many equally probable ones would have this entropy, 2 to the entropy in bits.",
            small=True,
        ),
    ]  # fmt: skip
    if len(names) > 1:
        rows = [[name, *map(float, row)] for name, row in zip(names, found.fidelities, strict=True)]
        head = ("", *(f"{number}." for number in range(1, len(names) + 1)))
        parts += [
            markup.heading("Fidelities"),
            markup.table("|⟨a|b⟩|²: 1 where two states are the same, 0 where orthogonal", head, rows, shades=True),
        ]
    parts += _entanglement(found, names)
    if any(found.cut):
        which = ", ".join(str(number) for number, cut in enumerate(found.cut, 1) if cut)
        parts.append(markup.paragraph(f"Longer than the model reads, and cut there: sentence {which}."))
    if found.unknown:
        parts.append(markup.paragraph(f"Words that the model does not know: {', '.join(found.unknown)}.", small=True))
    return markup.answer(*parts)


def _most(name: str, probs: Floats, qubits: int) -> list[object]:
    at = int(probs.argmax())
    there = probs[probs > 0]
    used = 2.0 ** float(-(there * np.log2(there)).sum())
    return [name, str(at), f"{at:0{qubits}b}", float(probs[at]), f"{used:.1f}"]


def _entanglement(found: Look, names: Sequence[str]) -> list[str]:
    if not found.entropy_bits.size:
        return []
    cuts = range(1, found.qubits)
    return [
        markup.heading("Entanglement across qubit cuts"),
        markup.figure(
            figures.entropies(found.entropy_bits, names),
            "Entropy of entanglement between the first qubits and the others; the dotted line is the most possible.",
        ),
        markup.table(
            "Entropy in bits, by qubits before the cut",
            ("sentence", *map(str, cuts)),
            [[name, *map(float, row)] for name, row in zip(names, found.entropy_bits, strict=True)],
        ),
    ]


def lay(studio: Studio) -> None:
    """The tab."""
    import gradio as gr

    def work(name: object, given: object) -> str:
        return told(look(studio.shelf.model(name, STATES), bounds.sentences(given)))

    with gr.Tab("States", id=STATES):
        gr.Markdown("Sentences as quantum states: what a measurement would read, how alike they are, how entangled.")
        names = studio.shelf.names(STATES)
        model = gr.Dropdown(names, value=names[0], label="Model", elem_id="states-model")
        given = gr.Textbox(
            EXAMPLE, lines=4, label=f"Sentences, one a line (at most {bounds.SENTENCES})", elem_id="states-sentences"
        )
        button = gr.Button("Show the states", variant="primary", elem_id="states-go")
        shown = gr.HTML(elem_id="states-shown")
        studio.ask(work, (model, given), shown, STATES, button.click)
