"""Optimus in the demo: sentences written again, on the way from one to another, by analogy, and from nothing."""

from __future__ import annotations

from itertools import islice

from psitext.experiments.demo.plan import Plan, Section, called, row
from psitext.experiments.latents import telling
from psitext.experiments.results import report
from psitext.experiments.results.report import Cell
from psitext.experiments.shipping.judging import Judging, unread
from psitext.explain.latent.smoothness import overlap
from psitext.model import Model
from psitext.train.network import parameter_count

ENDS = ("He was happy for a week.", "She was not happy.")
STEPS = 8
FROM, TO, MOVED = "He was happy.", "She was happy.", ("He walked home.", "He found it dull.")
DRAWN = 4
SHOWN = 10  # sentences written again that the page shows


def section(plan: Plan, model: Model) -> Section:
    """All of it from ``model``. Errors: one that writes no sentences from latents."""
    sentences = _unread(plan)
    again = telling.reconstruct(model, sentences)
    path = telling.interpolate(model, list(ENDS), STEPS)
    moved = telling.analogy(model, [FROM], [TO], list(MOVED))
    drawn = telling.sample(model, DRAWN)
    written = dict.fromkeys(path.texts)
    exact = sum(one.exact for one in again.each)
    lines = [
        f"{exact} of {len(sentences)} sentences that it has not read come back exactly from "
        f"{model.encode([FROM]).width} numbers each; {again.token_accuracy:.1%} of their tokens.",
        f"From one sentence to another: {' / '.join(written)}",
        f"{FROM} is to {TO} as {MOVED[0]} is to: {moved.texts[0]}",
        f"From random numbers: {' / '.join(drawn.texts)}",
    ]
    near = (
        f"The first {min(SHOWN, len(sentences))} of {len(sentences)} from other stories than it has read; not chosen."
    )
    parts = (
        report.Table(
            "Optimus: sentences written again",
            ["sentence", "written from its latent", "exactly"],
            [[one.text, one.written, "yes" if one.exact else "no"] for one in again.each[:SHOWN]],
            note=f"{near} Exact: {exact} of {len(sentences)}.",
        ),
        report.Table(
            "Optimus: from one sentence to another",
            ["place", "written there"],
            [[Cell(f"{place:g}"), text] for place, text in zip(path.places, path.texts, strict=True)],
            note=f'From "{ENDS[0]}" to "{ENDS[1]}" in equal steps.',
        ),
        report.Curves(
            "Optimus: words of either end on the way",
            {
                name: [(place, overlap(end, text)) for place, text in zip(path.places, path.texts, strict=True)]
                for name, end in (("the first sentence", path.texts[0]), ("the last sentence", path.texts[-1]))
            },
            x="place",
            y="overlap of words",
            note="Dice's coefficient with what is written at the ends.",
        ),
        report.Table(
            "Optimus: by analogy",
            ["sentence", "written"],
            [[old, new] for old, new in zip(MOVED, moved.texts, strict=True)],
            note=f'The way from "{FROM}" to "{TO}", taken from other sentences.',
        ),
        report.Table(
            "Optimus: from random numbers",
            ["number", "written"],
            [[str(number), text] for number, text in enumerate(drawn.texts, 1)],
            note=f"The first {DRAWN} draws of the prior; not chosen.",
        ),
    )
    named = row(f"{called(plan.optimus)}, as it comes", {}, parameter_count(model.network))
    return Section("Optimus", (named,), tuple(lines), parts, {})


def _unread(plan: Plan) -> list[str]:
    """Generated sentences that no run has read, in their order."""
    how = Judging(sentences=max(plan.sentences, 2), known=plan.known)
    short = (text for text in unread(how) if len(text.split()) <= how.max_words)
    return list(islice(dict.fromkeys(short), plan.sentences))
