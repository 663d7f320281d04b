"""The settings of what is measured with few labels, and of a picture of states."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from psitext.config import Config

MOST_POINTS = 5_000  # of a picture: each of them is kept in its result line


class FewLabels(Config):
    """Scores over the number of labelled sentences; every encoder gets the same sentences in the same trial.

    The paper: 1 to 10,000 labels a class, 10 trials where they are few.
    """

    counts: tuple[int, ...] = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)  # labelled sentences of each class
    trials: tuple[int, ...] = (10, 10, 10, 10, 10, 10, 10, 3, 1)  # draws of them, for each count
    test: int = Field(default=2_500, gt=0)  # sentences of each class to judge by, the same in all trials
    pool: int = Field(default=20_000, gt=0)  # at most so many of each class are drawn from
    seed: int = Field(default=0, ge=0)  # of all draws

    @model_validator(mode="after")
    def _counts_fit(self) -> Self:
        if not self.counts or len(self.trials) != len(self.counts):
            raise ValueError(f"trials gives {len(self.trials)} numbers for {len(self.counts)} counts of labels")
        if min(self.counts) < 1 or min(self.trials) < 1:
            raise ValueError("there is at least 1 label of each class, and 1 trial")
        if list(self.counts) != sorted(set(self.counts)):
            raise ValueError("the counts of labels ascend, each of them once")
        if self.counts[-1] > self.pool:
            raise ValueError(f"{self.counts[-1]:,} labels of each class cannot be drawn from a pool of {self.pool:,}")
        return self


class Plane(Config):
    """A picture of states in the plane by t-SNE (van der Maaten and Hinton 2008), and what it is measured by."""

    split: str = "dev"
    points: int = Field(default=1_000, gt=9, le=MOST_POINTS)  # sentences that are drawn, as many of each class
    measured: int = Field(default=5_000, gt=9)  # sentences that the numbers are of, the drawn ones among them
    neighbours: int = Field(default=10, gt=0)
    perplexity: float = Field(default=30.0, gt=0)
    seed: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.points > self.measured:
            raise ValueError(f"{self.points:,} points are more than the {self.measured:,} sentences that are measured")
        if self.neighbours >= self.points or 3 * self.perplexity >= self.points:
            raise ValueError(f"{self.points:,} points are too few for that many neighbours, or that perplexity")
        return self
