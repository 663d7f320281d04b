"""Two trainings side by side: the same texts, weights, batch sizes, optimiser and schedule; ours and transformers'.

A round is a set of texts. Both sides train on all of them, each in batches as its own recipe cuts them: psitext may
sort a few batches by length, transformers shuffles and pads to the longest, as its collators do.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from torch import nn
from torch.optim import Optimizer

from psitext.experiments.bench.timing import Measured, Steps, Timing, compare
from psitext.hf.opponents import Opponent
from psitext.nn.numerics import Precision, autocast
from psitext.randomness import generator
from psitext.score.losses import Score
from psitext.text.batches import Ints, Source, plan
from psitext.train.optim import OptimConfig, build_optimizer, factor, set_rate

CPU = torch.device("cpu")
Step = Callable[[Ints, float], float]  # train on these samples at this share of the peak rate; the loss before it


@dataclass(frozen=True, slots=True)
class Race:
    """What a side-by-side training found."""

    timing: Timing
    losses: tuple[float, float]  # mean of the last quarter of the steps: ours, theirs
    texts: int  # of a round
    tokens: float  # real ones, of a round

    def measured(self, name: str, course: Course) -> Measured:
        """Tokens a second of both, over the course."""
        timing = self.timing
        speeds = self.tokens / timing.ours, self.tokens / timing.theirs
        return Measured(name, "tokens/s", *speeds, timing.ratio, self.losses, course.rounds * self.texts)


@dataclass(frozen=True, slots=True)
class Course:
    """How far to train, and in what batches."""

    rounds: int  # measured; one more warms up
    steps: int = 8  # of a round
    sequences: int = 32  # of a batch
    pool: int = 1  # our batches that are sorted by length together
    their_pool: int = 1  # theirs: 1 = shuffled, the default of their Trainer
    seed: int = 0

    def chunks(self, count: int) -> Iterator[Ints]:
        """The samples of every round, out of ``count``; all of them once before any comes again."""
        size, wanted = self.steps * self.sequences, self.rounds + 1
        if count < size:
            raise ValueError(f"{count} samples do not fill a round of {size}")
        for number in range(wanted):
            epoch, place = divmod(number, count // size)
            yield generator(self.seed, "race", epoch).permutation(count)[place * size : (place + 1) * size]


def race(course: Course, lengths: Ints, ours: Step, theirs: Step, optim: OptimConfig) -> Race:
    """Train both through the course."""
    total = (course.rounds + 1) * course.steps
    losses: tuple[list[float], list[float]] = ([], [])
    tokens: list[int] = []

    def side(step: Step, kept: list[float], chunk: Ints, number: int, pool: int) -> Steps:
        batches = plan(lengths[chunk], seed=course.seed, epoch=number, sequences=course.sequences, pool=pool)

        def run(samples: Ints) -> None:
            kept.append(step(samples, factor(len(kept), total, optim)))

        return [partial(run, chunk[batch]) for batch in batches]

    def rounds() -> Iterator[tuple[Steps, Steps]]:
        for number, chunk in enumerate(course.chunks(len(lengths))):
            tokens.append(int(lengths[chunk].sum()))
            yield (
                side(ours, losses[0], chunk, number, course.pool),
                side(theirs, losses[1], chunk, number, course.their_pool),
            )

    timing = compare(rounds(), seed=course.seed)
    last = -max(total // 4, 1)
    final = statistics.fmean(losses[0][last:]), statistics.fmean(losses[1][last:])
    return Race(timing, final, course.steps * course.sequences, statistics.fmean(tokens[1:]))


def our_step(
    network: nn.Module,
    optimizer: Optimizer,
    score: Score,
    source: Source,
    optim: OptimConfig,
    precision: Precision = "fp32",
) -> Step:
    """A step of ``train.loop``, on one device and without accumulation."""
    network.train()

    def step(samples: Ints, scale: float) -> float:
        batch = source.build(samples, 0)
        with autocast(CPU, precision):
            predicted, state = network(batch)
        shares = [
            term.weight_at(0, 1) * term.total(predicted, batch, state) / term.count(batch).clamp_min(1)
            for term in score.values()
        ]
        return _update(torch.stack(shares).sum(), network, optimizer, optim, scale)

    return step


def their_step(opponent: Opponent, optim: OptimConfig) -> Step:
    """A step as transformers' Trainer does it: collate, forward, backward, clip, fused AdamW."""
    model = opponent.model.train()
    optimizer = build_optimizer(opponent.body, model, optim)

    def step(samples: Ints, scale: float) -> float:
        loss = model(**opponent.build(samples)).loss
        return _update(loss, model, optimizer, optim, scale)

    return step


def _update(loss: torch.Tensor, model: nn.Module, optimizer: Optimizer, optim: OptimConfig, scale: float) -> float:
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), optim.clip)
    set_rate(optimizer, scale)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return float(loss.detach())
