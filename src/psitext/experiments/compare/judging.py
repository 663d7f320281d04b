"""What answers to the same rows say about contenders, and which one to take.

Two uncertainties are kept apart, as in ``score.statistics``. The interval over seeds (Student's t) says how far
training again would move the mean score. The interval over rows (percentile bootstrap, Efron and Tibshirani 1993,
chapter 13) says how far other rows to judge by would. Leads of the best are bootstrapped in pairs, over rows and seeds
at once: every draw takes the same rows for all, and as many seeds of each as there are. Their intervals hold together
with 95 % (Bonferroni): the best of many is partly the luckiest.

N rows to judge by, B draws.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from psitext import randomness
from psitext.experiments.compare.settings import FLOOR
from psitext.experiments.lowresource.showing import t_interval
from psitext.score import metrics
from psitext.score.statistics import DRAWS

Array = npt.NDArray[Any]
CONFIDENCE = 0.95
BAG = "bag-of-words"  # with FLOOR the contenders that the rules speak of

Rule = Literal["few rows", "nothing learnt", "alone", "bag of words", "smallest"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A value, and between what it lies."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A contender's scores by seed, their mean, and its intervals; ``behind`` is the best one's lead over it."""

    scores: tuple[float, ...]
    mean: float
    over_seeds: Interval | None  # None with one seed
    over_rows: Interval
    behind: Interval | None  # None of the best one itself; positive where the best one is better
    collapsed: int  # seeds that give all rows one answer

    @property
    def apart(self) -> bool:
        """Whether the rows tell it from the best one."""
        return self.behind is not None and self.behind.low > 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """The contender to take, or None where the rows do not tell, and why in a sentence."""

    name: str | None
    rule: Rule
    sentence: str


def judge(
    metric: str,
    gold: Array,
    answers: Mapping[str, Sequence[Array]],
    draws: int = DRAWS,
    aside: Collection[str] = (),
) -> dict[str, Judged]:
    """Contenders by name, best first. ``answers`` holds (N,) class ids or scores for every seed. Those in ``aside``,
    whose scores do not count, come last, and none of them is the best.
    """
    sign = -1.0 if metric in metrics.LOWER_IS_BETTER else 1.0
    score = metrics.METRICS[metric]
    scores = {name: tuple(score(one, gold) for one in seeds) for name, seeds in answers.items()}
    # Of equals the earlier, cheaper one comes first.
    order = sorted(scores, key=lambda name: (name in aside, -sign * float(np.mean(scores[name]))))
    drawn = _drawn(score, gold, answers, draws)
    best = order[0]
    together = 1 - (1 - CONFIDENCE) / max(len(order) - 1, 1)
    found = {}
    for name in order:
        mean, half = t_interval(scores[name])
        lead = sign * (float(np.mean(scores[best])) - mean)
        found[name] = Judged(
            scores[name],
            mean,
            None if half is None else Interval(mean, mean - half, mean + half),
            _between(mean, drawn[name].rows, CONFIDENCE),
            None if name == best else _between(lead, sign * (drawn[best].both - drawn[name].both), together),
            sum(map(metrics.collapsed, answers[name])),
        )
    return found


@dataclass(frozen=True, slots=True)
class _Draws:
    """(B,) mean scores over all seeds, and over as many drawn ones, on the drawn rows."""

    rows: Array
    both: Array


def _drawn(score: metrics.Metric, gold: Array, answers: Mapping[str, Sequence[Array]], draws: int) -> dict[str, _Draws]:
    rows = randomness.generator(0, "compare", "rows")
    seeds = randomness.generator(0, "compare", "seeds")
    values = {name: np.empty((draws, len(some))) for name, some in answers.items()}
    for draw in range(draws):
        chosen = rows.integers(0, len(gold), len(gold))
        true = gold[chosen]
        for name, some in answers.items():
            values[name][draw] = [score(one[chosen], true) for one in some]
    found = {}
    for name, value in values.items():
        count = value.shape[1]
        taken = np.take_along_axis(value, seeds.integers(0, count, (draws, count)), axis=1)
        found[name] = _Draws(value.mean(axis=1), taken.mean(axis=1))
    return found


def _between(value: float, drawn: Array, confidence: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(value, float(low), float(high))


def recommend(
    judged: Mapping[str, Judged], sizes: Mapping[str, int], speeds: Mapping[str, float], rows: int, least: int
) -> Verdict:
    """The verdict on contenders (best first) by the rules that docs/comparing.md states, the first that applies.

    ``sizes``: parameters; ``speeds``: seconds to answer 1,000 texts.
    """
    best = next(iter(judged))
    if rows < least:
        why = f"{rows} rows to judge by are too few to tell contenders apart (at least {least} are needed)"
        return Verdict(None, "few rows", f"No recommendation: {why}.")
    level = [name for name, one in judged.items() if not one.apart]
    others = [name for name in judged if name != FLOOR]
    if not others:
        return Verdict(None, "nothing learnt", f"No recommendation: there is nothing here to compare {FLOOR} with.")
    if FLOOR in level:
        sentence = (
            f"No recommendation: on {rows:,} rows nothing is told from always answering the same; either there are too "
            "few rows, or the text does not hold the answer."
        )
        return Verdict(None, "nothing learnt", sentence)
    if len(others) == 1:
        told = f"on {rows:,} rows {others[0]} is better than always answering the same"
        sentence = f"Nothing is compared: {told}, but it is the only contender, so whether another is better is open."
        return Verdict(None, "alone", sentence)
    if BAG in level:
        than = "which scores best" if best == BAG else f"from which {rows:,} rows do not tell the best, {best}"
        return Verdict(BAG, "bag of words", f"Take {BAG}, {than}: nothing here beats it.")
    smallest = min(level, key=lambda name: (sizes[name], speeds[name]))
    if len(level) == 1:
        return Verdict(best, "smallest", f"Take {best}: it is better than every other on {rows:,} rows.")
    other = next(name for name in level if name != smallest)
    beside = "the best" if smallest == best else f"{rows:,} rows do not tell it from the best, {best}"
    more = f"{other} is level with it and larger" if smallest == best else "it is the smallest of those"
    numbers = f"{sizes[smallest]:,} parameters, {speeds[smallest]:.2g} s for 1,000 texts"
    return Verdict(smallest, "smallest", f"Take {smallest} ({numbers}): {beside}, and {more}.")
