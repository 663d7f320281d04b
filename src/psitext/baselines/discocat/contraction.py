"""Tensor networks contracted pair by pair, for a batch of networks of one form at once.

A wire is a number; tensors that share a wire share an index, which is summed unless it is open. More than two tensors
may share one (a spider is nothing but that), so a spider of any number of legs costs no memory. Products of many small
tensors leave the range of floating-point numbers: they are brought back to size 1 on the way, and the logarithm of what
was taken out is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import opt_einsum
import torch
from torch import Tensor

Wires: TypeAlias = tuple[int, ...]

_LEAVES = 8  # factors of a product before it is rescaled: eight of 1e-4 are still far from the end of float32
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BATCH = "Z"


@dataclass(frozen=True, slots=True)
class Step:
    """One product: which values, how, and whether its size is taken out. Its result is the next value."""

    inputs: tuple[int, ...]
    equation: str
    rescale: bool


@dataclass(frozen=True)
class Contraction:
    """A network's steps, ready to run on any batch.

    Values are numbered: first the ``operands``, as they were given, then the result of every step. ``constants`` are
    those that no batch changes, contracted among each other beforehand (float64 or complex128).
    """

    operands: int
    constants: Mapping[int, Tensor]
    steps: tuple[Step, ...]
    _cast: dict[torch.dtype, dict[int, Tensor]] = field(default_factory=dict, compare=False)

    def __call__(self, given: Mapping[int, Tensor]) -> tuple[Tensor, Tensor]:
        """Contract: the operands that are not constant, by number, (B, ...) -> values (B, ...) and log scales (B,).

        The network's value is ``values * exp(log_scales)``. Log scales carry no gradient: they are factors, not
        functions, of the values.
        """
        first = next(iter(given.values()))
        values = dict(self._constants(first)) | dict(given)
        log_scale = torch.zeros(len(first), dtype=first.real.dtype, device=first.device)
        for number, step in enumerate(self.steps, self.operands):
            if number in values:
                continue
            value = torch.einsum(step.equation, [values[place] for place in step.inputs])
            if step.rescale:
                size = value.detach().abs().flatten(1).amax(1).clamp_min(torch.finfo(first.dtype).tiny)
                value = value / size.view(-1, *[1] * (value.ndim - 1))
                log_scale = log_scale + size.log()
            values[number] = value
        return values[self.operands + len(self.steps) - 1], log_scale

    def _constants(self, like: Tensor) -> dict[int, Tensor]:
        if like.dtype not in self._cast:
            self._cast[like.dtype] = {place: value.to(like.dtype) for place, value in self.constants.items()}
        return self._cast[like.dtype]


def plan(
    wires: Sequence[Wires], sizes: Mapping[int, int], output: Wires, constants: Mapping[int, Tensor]
) -> Contraction:
    """The steps by which operands with these wires become one tensor with the wires ``output``.

    sizes: width of every wire. constants: operands without a batch axis, by number; at least one operand has one.
    """
    names = {wire: opt_einsum.get_symbol(number) for number, wire in enumerate(sizes)}
    equation = ",".join("".join(names[wire] for wire in found) for found in wires)
    shapes = [tuple(sizes[wire] for wire in found) for found in wires]
    open_wires = "".join(names[wire] for wire in output)
    path, _ = opt_einsum.contract_path(f"{equation}->{open_wires}", *shapes, shapes=True, optimize="auto")
    left, known = list(range(len(wires))), dict(constants)
    found, leaves, steps = list(wires), [1] * len(wires), list[Step]()
    for places in path:
        inputs = tuple(left[place] for place in places)
        left = [value for place, value in enumerate(left) if place not in places]
        kept = {wire for value in left for wire in found[value]} | set(output)
        result = tuple(dict.fromkeys(wire for value in inputs for wire in found[value] if wire in kept))
        result = result if left else output
        factors = sum(leaves[value] for value in inputs)
        steps.append(_step(inputs, [found[value] for value in inputs], result, known, factors > _LEAVES))
        if all(value in known for value in inputs):
            known[len(found)] = torch.einsum(steps[-1].equation, [known[value] for value in inputs])
        leaves.append(1 if factors > _LEAVES else factors)
        left.append(len(found))
        found.append(result)
    return Contraction(len(wires), known, tuple(steps))


def _step(
    inputs: tuple[int, ...], wires: Sequence[Wires], result: Wires, constants: Mapping[int, Tensor], rescale: bool
) -> Step:
    used = dict.fromkeys(wire for found in wires for wire in found)
    letter = dict(zip(used, _LETTERS, strict=False))
    constant = [value in constants for value in inputs]
    terms = [
        ("" if fixed else _BATCH) + "".join(letter[wire] for wire in found)
        for found, fixed in zip(wires, constant, strict=True)
    ]
    end = ("" if all(constant) else _BATCH) + "".join(letter[wire] for wire in result)
    return Step(inputs, f"{','.join(terms)}->{end}", rescale and not all(constant))
