"""Steps there and back for the models of one chunk, in place and in one layout.

Layout: (E, H, T, B). Then a step is one product of matrices and one of elements, the gates of all models and words are
one product of matrices, and so is each gradient of a weight. Biases are columns of the weights: the state is
[h; 1], the weight [W b].

Going back, with g the gradient of h_t, a_t = W h_{t-1} + b and u_t the gates: du_t = g * a_t, da_t = g * u_t,
g <- W^T da_t; after the last step dW = sum_t da_t h_{t-1}^T. du is written over a, and da over u.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from psitext.nn.scan.scaling import Scales, least_exponent, steps_between
from psitext.nn.scan.sequences import Sequences


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of a run."""

    sequences: Sequences  # sorted; below T stands for the steps that one of them has
    rescale: bool
    gate_exponent: Tensor | None  # (E, T, B) of gates that are given as u 2^-exponent; asks for ``rescale``
    states: bool  # all states instead of the last ones
    keep: bool  # whether there is a way back

    def part(self, some: slice) -> Plan:
        """The plan of some models."""
        return self if self.gate_exponent is None else replace(self, gate_exponent=self.gate_exponent[some])


@dataclass(slots=True)
class Tape:
    """The memory of a run, and what it leaves there for the way back."""

    state: Tensor  # [h; 1] 2^-k, (E, H + 1, T + 1, B)
    before: Tensor  # a, (E, H, T, B)
    gates: Tensor  # u, (E, H, T, B)
    steps: tuple[Sequence[Tensor], Sequence[Tensor]] = ((), ())  # views of ``before`` and ``gates``, which cost time
    factors: dict[int, Tensor] = field(default_factory=dict)  # by step (E, 1, n): what its states were multiplied with
    spent: bool = False  # whether ``before`` and ``gates`` have been written over, on the way back

    @classmethod
    def blank(cls, models: int, width: int, like: Tensor, plan: Plan) -> Tape:
        """Memory for T and B of ``like`` (..., T, B), allocated in one piece: malloc keeps that for the next batch, and
        returns many pieces to the system. Without a way back there is no room for a.
        """
        steps, batch = like.shape[-2:]
        shapes = (width + 1, steps + 1, batch), (width, steps if plan.keep else 0, batch), (width, steps, batch)
        sizes = [models * math.prod(shape) for shape in shapes]
        pieces = like.new_empty(sum(sizes)).split(sizes)
        return cls(*(piece.view(models, *shape) for piece, shape in zip(pieces, shapes, strict=True)))


@dataclass(frozen=True, slots=True)
class Gradients:
    """What the way back finds, in the shapes of what it is of."""

    weight: Tensor
    gates: Tensor
    start: Tensor


def forth(weight: Tensor, tape: Tape, start: Tensor | None, plan: Plan) -> tuple[Tensor, Tensor]:
    """All steps of weight (E, H, H + 1) under the tape's gates, from ``start`` (E, H, B) or 0.

    -> values (E, H, B), or of all states (E, H, T, B), and exponents (E, B) or (E, T, B): h = values 2^exponent.
    """
    state, (models, _, steps, batch) = tape.state, tape.gates.shape
    each_step = plan.sequences.each_step
    state[:, :-1, 0] = 0.0 if start is None else start
    state[:, -1] = 1.0
    plan.sequences.clear(state[:, :, 1:])
    tape.steps = each_step(tape.before), each_step(tape.gates)
    kept, gates = tape.steps
    products, copies = (kept, ()) if plan.keep and models == 1 else (_products(tape.gates, plan.sequences), kept)
    wholes, after = each_step(state[:, :, :-1]), each_step(state[:, :-1, 1:])
    views = list(zip(wholes, products, gates, after, copies or (None,) * steps, strict=True))
    product, weight_alone = (torch.mm if models == 1 else torch.bmm), weight.squeeze(0)

    def advance(first: int, last: int) -> None:
        for whole, a, u, h, copy in views[first:last]:
            product(weight_alone, whole, out=a)
            torch.mul(a, u, out=h)
            if copy is not None:
                copy.copy_(a)

    if plan.rescale:
        exponent = _scaled(advance, weight, tape, plan, started=start is not None)
    else:
        advance(0, steps)
        exponent = state.new_zeros((models, steps, batch) if plan.states else (models, batch), dtype=torch.int32)
    return state[:, :-1, 1:] if plan.states else plan.sequences.ends(state[:, :-1], steps, batch), exponent


def _products(gates: Tensor, sequences: Sequences) -> list[Tensor]:
    """For every step the same memory without gaps, which is in the cache. Products of several models go there and are
    copied, which is much faster than products to memory with gaps.
    """
    models, width, _, batch = gates.shape
    room = gates.new_empty(models * width * batch)
    return sequences.every_step(lambda n: room[: models * width * n].view(models, width, n).squeeze(0))


def _scaled(advance: Callable[[int, int], None], weight: Tensor, tape: Tape, plan: Plan, *, started: bool) -> Tensor:
    """All steps, with states scaled after each or, where only the last count, when they need it; their exponents."""
    sequences, (models, _, steps, batch) = plan.sequences, tape.gates.shape
    least = least_exponent(weight)
    # All states may be the words of another layer, whose bias is then multiplied with 2^-k: so k is at least 0.
    scales = Scales(tape.state, least.clamp(min=0) if plan.states else least)
    tape.factors = scales.factors
    trail = scales.exponent.new_zeros(models, steps if plan.states else 0, batch)

    def each(first: int, last: int) -> None:
        for step in range(first, last):
            rows = sequences.alive[step]
            scales.write_ones(step, step + 1)
            advance(step, step + 1)
            if plan.gate_exponent is not None:
                scales.exponent[:, :rows] += plan.gate_exponent[:, step, :rows]
            scales.normalise(step + 1, rows)
            if plan.states:
                trail[:, step, :rows] = scales.exponent[:, :rows]

    if started:
        scales.normalise(0, batch)
    if plan.states or plan.gate_exponent is not None:
        each(0, steps)
        return trail if plan.states else scales.exponent
    stride = steps_between(weight, tape.gates)
    for first in range(0, steps, stride):
        last = min(first + stride, steps)
        scales.write_ones(first, last)
        advance(first, last)
        lost, due = scales.judge(sequences.ends(tape.state[:, :-1], last, sequences.alive[first]))
        if lost:
            each(first, last)
        elif due:
            scales.normalise(last, sequences.alive[last - 1])
    return scales.exponent


def back(weight: Tensor, tape: Tape, gradient: Tensor, plan: Plan) -> Gradients:
    """From the gradient of ``forth``'s values to those of its arguments; spends the tape."""
    sequences, (models, width, _, batch) = plan.sequences, tape.gates.shape
    tape.spent = True
    g = tape.gates.new_zeros(models, width, batch)
    alone, of_state = g.squeeze(0), gradient.squeeze(0)
    alive = sequences.every_step(lambda n: alone[..., :n])
    of_states = sequences.each_step(gradient) if plan.states else ()
    product, transposed = (torch.mm if models == 1 else torch.bmm), weight[:, :, :-1].mT.squeeze(0)

    arrivals = {} if plan.states else sequences.last_words()

    def arrive(step: int) -> None:
        """Gradients of states after ``step``, which had been scaled before they were given away."""
        if step in arrivals:
            alone[..., arrivals[step]] = of_state[..., arrivals[step]]
        elif plan.states and step >= 0:
            alive[step].add_(of_states[step])
        if (factor := tape.factors.get(step + 1)) is not None:
            alone[..., : factor.shape[-1]] *= factor.squeeze(0)

    for step, (a, u, g_alive) in reversed(list(enumerate(zip(*tape.steps, alive, strict=True)))):
        if plan.states or step in arrivals or step + 1 in tape.factors:
            arrive(step)
        a.mul_(g_alive)
        u.mul_(g_alive)
        product(transposed, u, out=g_alive)
    arrive(-1)
    sequences.clear(tape.before)
    of_weight = torch.bmm(tape.gates.flatten(2), tape.state[:, :, :-1].flatten(2).mT)
    return Gradients(of_weight, tape.before, g)
