"""BERT in the demo: bert-tiny fine-tuned, beside the same net from nothing, a bag of words and the majority."""

from __future__ import annotations

from pathlib import Path

from psitext.experiments.demo.plan import SAME_WORDS, Plan, Section, Show, called
from psitext.experiments.demo.reviews import Reviews, positive, trained
from psitext.experiments.results import report


def section(plan: Plan, reviews: Reviews, out: Path, show: Show) -> Section:
    """Fine-tune both, or take what ``out`` has of them."""
    tuned = trained(plan, "demo-bert", plan.bert, reviews, out / "bert", show)
    fresh = trained(plan, "demo-bert", plan.bert, reviews, out / "bert-from-nothing", show, fresh=True)
    names = (f"{called(plan.bert)}, fine-tuned", "the same net, from nothing")
    rows = [tuned.row(names[0]), fresh.row(names[1]), *reversed(reviews.baselines())]
    metric, said = reviews.task.headline, {names[0]: positive(tuned.model, reviews)}
    said[names[1]] = positive(fresh.model, reviews)
    lines = [
        f"{len(reviews.train):,} generated reviews to learn from, {len(reviews.test):,} others to judge by: {metric} "
        f"{tuned.scores[metric]:.3f}; the same net from nothing {fresh.scores[metric]:.3f}; "
        + "; ".join(f"{one['model']} {one[metric]}" for one in rows[2:])
        + ".",
        *(
            f'"{text}" is {reviews.task.labels[-1]} with probability {found:.3f}; from nothing {other:.3f}.'
            for text, found, other in zip(SAME_WORDS, *said.values(), strict=True)
        ),
    ]
    parts = (
        report.Curves(
            "BERT: what pre-training is worth",
            {names[0]: tuned.losses, names[1]: fresh.losses},
            note="Loss on the reviews to learn from; both are given the same ones in the same order.",
        ),
        report.Table(
            f"BERT: the probability of {reviews.task.labels[-1]}",
            ["model", *SAME_WORDS],
            [[name, *values] for name, values in said.items()],
            note="The same words in two orders. A bag of words, if it counts single ones, cannot tell them apart.",
        ),
    )
    settings = {"bert": tuned.recipe.tree(), "bert-from-nothing": fresh.recipe.tree()}
    return Section("BERT", tuple(rows), tuple(lines), parts, settings)
