"""How the weight of a term grows over a run: schedules of beta, as exact fractions of step and steps.

A schedule cuts a run into equal cycles. In each of them the weight is 0 for a share ``zero``, rises in a line for a
share ``rise``, and stays at its end value for what is left. Step s of n is the interval from s/n to (s + 1)/n of the
run and takes the value at its middle, in whole numbers: no float adds up, a resumed run needs no list, and the
steps at 0, on the way and at the end have the shares that were asked for, to half a step at each border. (Added up
in floats, as in the original code of Optimus, 97 steps in 10 cycles are at 0 for 62 % and at the end for 17.5 % in
place of 50 and 25.)

Sources: Bowman et al. 2016 (linear, "M.A."); Fu et al. 2019 (cyclical, "C.A."); Li et al. 2020, section 3.3
(cyclical with a phase at 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Schedule = Literal["constant", "linear", "cyclical", "cyclical-zero"]


@dataclass(frozen=True, slots=True)
class Cycle:
    """Shares of one cycle: at 0, then rising; what is left is at the end value."""

    zero: Fraction
    rise: Fraction

    def __post_init__(self) -> None:
        if self.zero < 0 or self.rise < 0 or self.zero + self.rise > 1:
            raise ValueError(f"{self.zero} of a cycle at 0 and {self.rise} rising are not shares of one cycle")


# What each schedule is where nothing else is asked for. A linear one is one cycle.
CYCLES: dict[Schedule, Cycle] = {
    "constant": Cycle(Fraction(0), Fraction(0)),
    "linear": Cycle(Fraction(0), Fraction(1, 2)),
    "cyclical": Cycle(Fraction(0), Fraction(1, 2)),  # R = 0.5 of Fu et al.
    "cyclical-zero": Cycle(Fraction(1, 2), Fraction(1, 4)),  # the paper's
}


def exact(share: float) -> Fraction:
    """A share as it is written: 0.1 is a tenth, not the float beside it."""
    return Fraction(str(share))


def beta(step: int, total: int, cycle: Cycle, cycles: int = 1) -> Fraction:
    """The share of its end value that a weight has at ``step`` (0-based) of ``total``, between 0 and 1.

    Errors: ValueError for a step outside the run.
    """
    if not 0 <= step < total:
        raise ValueError(f"a run of {total} steps has no step {step}")
    place = Fraction((2 * step + 1) * cycles, 2 * total) % 1  # of the step's middle, in its cycle
    if place < cycle.zero:
        return Fraction(0)
    if place < cycle.zero + cycle.rise:
        return (place - cycle.zero) / cycle.rise
    return Fraction(1)
