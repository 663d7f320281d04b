"""States as mantissa and power of two, so that neither T = 2,000 words nor wild weights leave float32.

The augmented state [h; 1] of a sequence is kept as [h; 1] 2^-k. Its exponent k is a whole number, so scaling never
rounds; it is a constant to differentiation. ``rescaled`` says which k a state has when its scale is stated: the
largest |component| of h 2^-k lies in [1/2, 1), except that with a bias k is never below 0. On the way any k will do
that leaves room, so states are scaled when they need it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def headroom(dtype: torch.dtype) -> int:
    """Doublings that states may go through between two looks at them: a third of the dtype's exponents.

    A sixth more is for their size at the first look, the rest for what gradients add. So much smaller, they have lost
    nothing either.
    """
    return int(math.log2(torch.finfo(dtype).max)) // 3


def steps_between(weight: Tensor, gates: Tensor) -> int:
    """Steps that no state (nor its gradient) can outgrow ``headroom`` in; weight (E, H, H + 1), gates (E, H, T, B).

    A step multiplies the largest |component| of [h; 1] by at most the largest row sum of |[W b]| times the largest
    |gate|, and that of a gradient by the largest column sum of |W| times it.
    """
    if not gates.numel():
        return 1
    size, rows = weight.abs(), gates.flatten(1)
    sums = torch.maximum(size.sum(2).amax(1), size[:, :, :-1].sum(1).amax(1))  # (E,)
    growth = float((sums * torch.maximum(rows.amax(1), -rows.amin(1))).max())
    if not math.isfinite(growth):
        return 1
    return max(1, int(headroom(weight.dtype) / math.log2(max(2.0, growth))))


class Scales:
    """The exponents of the states of one run: ``state`` (E, H + 1, T + 1, B) is scaled in place, step by step."""

    def __init__(self, state: Tensor, least: Tensor) -> None:
        self.state = state
        self.exponent = state.new_zeros((len(state), state.shape[-1]), dtype=torch.int32)  # k, (E, B)
        self.least = least  # (E, 1)
        self.factors: dict[int, Tensor] = {}  # by step: (E, 1, n), what its first n states were multiplied with

    def normalise(self, step: int, rows: int) -> None:
        """Scale the first ``rows`` states after ``step`` steps, and remember by how much."""
        vector, before = self.state[:, :-1, step, :rows], self.exponent[:, :rows]
        after, factor = rescaled(vector, before, self.least)
        self.factors[step] = factor[:, None]
        vector.mul_(factor[:, None])
        self.exponent[:, :rows] = after

    def write_ones(self, first: int, last: int) -> None:
        """The last component of the states before steps ``first`` to ``last``, exclusive: 2^-k.

        It is made of k instead of being multiplied, so that one too small for the dtype comes back when k falls.
        """
        ones = (-self.exponent.clamp(min=0)).to(self.state.dtype).exp2()  # no bias reads it where k < 0
        self.state[:, -1, first:last] = ones[:, None]

    def judge(self, ends: Tensor) -> tuple[bool, bool]:
        """Of states (E, H, n) some steps after the last look: whether digits are lost, and whether scaling is due.

        A scaled state that shrinks a great deal and grows again (a word may set it to 0, say) finds its bias, times
        2^-k, too small for the dtype: those steps have to be done again, one by one.
        """
        if not ends.numel():
            return False, False
        room = headroom(ends.dtype)
        sizes = peaks(ends).nan_to_num(torch.inf)  # a model that has diverged must not keep others from being scaled
        lowest = self.exponent[:, : ends.shape[2]] <= self.least
        smallest, largest = float(sizes.masked_fill(lowest, torch.inf).amin()), float(sizes.amax())
        return smallest < 2.0**-room, largest > 2.0 ** (room // 2) or smallest < 2.0 ** -(room // 2)


def least_exponent(weight: Tensor) -> Tensor:
    """The least k allowed of last states, (E, 1): 0 where [W b] (E, H, H + 1) has a bias, else far below any."""
    return torch.where(weight[:, :, -1:].any(1), 0, torch.iinfo(torch.int32).min // 2)


def peaks(vector: Tensor) -> Tensor:
    """The largest |component|; (E, H, B) -> (E, B)."""
    return vector.abs().amax(1)


def rescaled(vector: Tensor, exponent: Tensor, least: Tensor) -> tuple[Tensor, Tensor]:
    """The exponent k of h and 2^(k' - k), given h 2^-k' (E, H, B), k' (E, B) and the least k allowed (E, 1).

    A state that is exactly 0 has k = 0. What it then does to gradients, up to 2^k', is cut to ``headroom``.
    """
    largest = peaks(vector)
    limit = int(math.log2(torch.finfo(vector.dtype).max)) - 1
    shift = torch.frexp(largest).exponent.clamp(min=-limit)  # so that 2^-shift is finite where states are subnormal
    after = torch.where(largest == 0, 0, torch.maximum(exponent + shift, least))
    power = torch.where(largest == 0, exponent.clamp(-limit, headroom(vector.dtype)), exponent - after)
    return after, power.to(vector.dtype).exp2()
