"""RAC in the demo: rac-tiny as it comes, one review explained word by word, and its entanglement."""

from __future__ import annotations

from psitext.experiments.demo.plan import Plan, Section, row
from psitext.experiments.demo.reviews import Reviews
from psitext.experiments.results import report
from psitext.experiments.results.figures import Interval
from psitext.model import Model
from psitext.train.network import parameter_count

REVIEW = "The critics found it cold, although I found it moving."
FLIPS = 3


def section(plan: Plan, reviews: Reviews, model: Model) -> Section:
    """Score it and explain ``REVIEW``. Errors: a model that is no circuit."""
    scores, metric = model.evaluate(reviews.test), reviews.task.headline
    found = model.explain(REVIEW, top=FLIPS)
    mps = model.to_mps()
    bits, bound = mps.entropy_bits().tolist(), mps.bound_bits.tolist()
    middle, at = mps.middle, found.shown
    values = found.shapley[at].tolist()
    words = ", ".join(f"{word} {value:+.2f}" for word, value in zip(found.words, values, strict=True))
    flips = "; ".join(f"{one.instead} for {one.word}: {one.label} {one.probability:.3f}" for one in found.flips)
    lines = [
        f"A matrix product state of bond {mps.bond}, trained before it came: {metric} {scores[metric]:.3f} on the same "
        f"{len(reviews.test):,} reviews.",
        f'"{REVIEW}" is {found.answer.label} ({found.answer.probability or 0.0:.3f}). Exact Shapley values of its words: '
        f"{words}.",
        f"What turns it: {flips or 'no other word in one place'}.",
        f"Entanglement in the middle of {mps.length} words: {bits[middle - 1]:.2f} bits of {bound[middle - 1]:.2f} that "
        f"its bond could hold.",
    ]
    parts = (
        report.Comparison(
            "RAC: which words make the decision",
            [Interval(f"{place} {word}", value) for place, (word, value) in enumerate(zip(found.words, values, strict=True), 1)],
            x=f"Shapley value, in {found.says[at]}",
            note=f"{found.answer.label}, {found.answer.probability or 0.0:.3f}. The values are exact, and sum to "
            f"{float(found.logits[at]):.2f} less the {float(found.nothing[at]):.2f} of a text of random words.",
        ),
        report.Table(
            "RAC: what would turn it",
            ["word", "instead", "then", "probability"],
            [[one.word, one.instead, one.label, one.probability] for one in found.flips],
            note="Of all single substitutions by known words, those after which it is surest.",
        ),
        report.Curves(
            "RAC: entanglement along its bonds",
            {"entropy": _by_cut(bits), "bound": _by_cut(bound)},
            x="words before the cut",
            y="entropy (bits)",
            note=f"{mps.length} words, {mps.metric} metric: {mps.says}.",
        ),
    )
    named = row(f"{plan.rac}, as it comes", scores, parameter_count(model.network))
    return Section("RAC", (named,), tuple(lines), parts, {})


def _by_cut(bits: list[float]) -> list[tuple[float, float]]:
    return [(float(cut), value) for cut, value in enumerate(bits, 1)]
