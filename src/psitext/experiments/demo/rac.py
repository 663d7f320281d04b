"""RAC in the demo: rac-tiny as it comes, one review explained word by word, and its entanglement."""

from __future__ import annotations

from psitext.experiments.demo.plan import Plan, Section, called, row
from psitext.experiments.demo.reviews import Reviews
from psitext.experiments.results import report
from psitext.experiments.results.figures import Interval
from psitext.model import Model
from psitext.train.network import parameter_count

REVIEW = "Nobody called it boring."
FLIPS = 1000  # substitutions that are looked at; of each place the surest is told


def section(plan: Plan, reviews: Reviews, model: Model) -> Section:
    """Score it and explain ``REVIEW``. Errors: a model that is no circuit."""
    scores, metric = model.evaluate(reviews.test), reviews.task.headline
    found = model.explain(REVIEW, top=FLIPS)
    surest = list({one.place: one for one in reversed(found.flips)}.values())
    surest.sort(key=lambda one: one.place)
    mps = model.to_mps()
    bits, bound = mps.entropy_bits().tolist(), mps.bound_bits.tolist()
    middle, at, sure = mps.middle, found.shown, found.answer.probability or 0.0
    values = found.shapley[at].tolist()
    words = ", ".join(f"{word} {value:+.2f}" for word, value in zip(found.words, values, strict=True))
    flips = "; ".join(f"{one.instead} for {one.word} ({one.label} {one.probability:.3f})" for one in surest)
    lines = [
        f"A matrix product state of bond {mps.bond}, taught by other reviews of this grammar before it came: {metric} "
        f"{scores[metric]:.3f} on the {len(reviews.test):,} to judge by.",
        f'"{REVIEW}" is {found.answer.label} ({sure:.3f}). Exact Shapley values of its words: {words}.',
        f"One other word that turns it, for each place that has one: {flips or 'there is none'}.",
        f"Entanglement in the middle of {mps.length} words: {bits[middle - 1]:.2f} bits; its "
        f"bond could hold {bound[middle - 1]:.2f}.",
    ]
    parts = (
        report.Comparison(
            "RAC: which words make the decision",
            [
                Interval(f"{place} {word}", value)
                for place, (word, value) in enumerate(zip(found.words, values, strict=True), 1)
            ],
            x=f"Shapley value, in {found.says[at]}",
            note=f'"{REVIEW}" is {found.answer.label} ({sure:.3f}). The values are exact, and sum to '
            f"{float(found.logits[at]):.2f} less the {float(found.nothing[at]):.2f} of a text of random words.",
        ),
        report.Table(
            "RAC: what would turn it",
            ["word", "instead", "then", "probability"],
            [[f"{one.place + 1} {one.word}", one.instead, one.label, one.probability] for one in surest],
            note="Of all substitutions by known words, for each place the one after which it is surest.",
        ),
        report.Curves(
            "RAC: entanglement along its bonds",
            {"entropy": _by_cut(bits), "bound": _by_cut(bound)},
            x="words before the cut",
            y="entropy (bits)",
            note=f"{mps.length} words, {mps.metric} metric: {mps.says}.",
        ),
    )
    named = row(f"{called(plan.rac)}, as it comes", scores, parameter_count(model.network))
    return Section("RAC", (named,), tuple(lines), parts, {})


def _by_cut(bits: list[float]) -> list[tuple[float, float]]:
    return [(float(cut), value) for cut, value in enumerate(bits, 1)]
