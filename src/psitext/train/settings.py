"""Settings of a training run that every family shares."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from psitext.config import Config
from psitext.nn.numerics import Precision
from psitext.train.optim import OptimConfig

BUDGETS = ("steps", "epochs", "minutes", "tokens")


class TrainConfig(Config):
    """How to train. Exactly one budget and exactly one batch size are set.

    ``evaluate_every`` and ``checkpoint_every`` count steps; 0 means once an epoch. Before a run starts, ``steps``
    and both of them are worked out and frozen into its folder, so that a schedule never depends on the clock.
    """

    seed: int = Field(default=0, ge=0)  # at most 2**63 - 1, as every whole number of a config
    steps: int | None = Field(default=None, gt=0)
    # The bounds keep the number of steps, and the time it takes to count them, finite.
    epochs: float | None = Field(default=None, gt=0, le=1e6)
    minutes: float | None = Field(default=None, gt=0, le=1e8)  # turned into steps after a measured warm-up
    tokens: int | None = Field(default=None, gt=0)  # real tokens, padding left out
    batch_tokens: int | None = Field(default=None, gt=0)  # real tokens in a global batch
    batch_sequences: int | None = Field(default=None, gt=0)
    accumulation: int = Field(default=1, gt=0)  # micro-steps that a rank cuts its share of a batch into
    pool: int = Field(default=1, gt=0)  # length grouping: so many batches are sorted by length together; 1 = none
    # auto: whichever of the two this machine multiplies faster in, frozen into the run
    precision: Literal["fp32", "bf16", "auto"] = "auto"
    optim: OptimConfig = OptimConfig()
    freeze: bool = False  # train the head only, on the states of a frozen encoder
    evaluate_every: int = Field(default=0, ge=0)
    checkpoint_every: int = Field(default=0, ge=0)
    checkpoint_minutes: float = Field(default=10, gt=0)  # also this often by the clock, on which no result depends
    log_every: int = Field(default=20, gt=0)
    patience: int = Field(default=0, ge=0)  # stop after so many evaluations without a new best; 0 = never
    keep: int = Field(default=2, gt=0)  # checkpoints kept besides the best weights

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        for names in (BUDGETS, ("batch_tokens", "batch_sequences")):
            given = [name for name in names if getattr(self, name) is not None]
            if len(given) != 1:
                found = ", ".join(given) or "none (a recipe that it extends would bring one along)"
                raise ValueError(f"exactly one of {', '.join(names)} must be set, not {found}")
        return self

    @property
    def settled(self) -> Precision:
        """The precision, once the run has settled what "auto" is."""
        if self.precision == "auto":
            raise ValueError("the precision of this run is not settled yet")
        return self.precision

    def with_budget(self, **budget: int | float) -> TrainConfig:
        """The same settings under another budget (``minutes=30``)."""
        return TrainConfig(**{**self.tree(), **dict.fromkeys(BUDGETS), **budget})
