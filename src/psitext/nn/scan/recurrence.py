"""The recurrence as functions with gradients: of words (``rac``) or of ready gates (``scan``).

States come as a pair, h = vector * exp(log_scale). Without ``rescale`` log_scale is 0 and vector is h. With it every
vector is scaled by a power of two (see ``scaling``), exactly, and log_scale is a constant to differentiation: any
function of the pair that depends on h alone, such as vector / |vector|, vector * exp(log_scale) or
log |vector| + log_scale, has its right gradient; log_scale alone is piecewise constant and has none.

With ``lengths`` (B,) sequence b stops after its first lengths[b] words: its last state is the one after these, its
states behind them are 0, and what stands there instead of words is never looked at.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from psitext.nn.scan.scaling import least_exponent, rescaled
from psitext.nn.scan.sequences import Sequences
from psitext.nn.scan.steps import Plan, Tape, back, forth

# States, products and gates of the models that run together. Measured with an L3 cache of 32 MB: from 6 to 24 MB calls
# weigh less and less; beyond that the cache is too small, and malloc returns a piece to the system with every batch.
CHUNK_BYTES = 24 * 2**20


def models_at_once(rows: int, width: int, dtype: torch.dtype = torch.float32) -> int:
    """How many models of width H run best together on ``rows`` = B T words.

    More of them run in chunks of that many. It is faster to train no more at a time, loss and backward pass included.
    """
    return max(1, CHUNK_BYTES // max(1, 3 * rows * width * dtype.itemsize))


def rac(
    words: Tensor,
    hidden: Tensor,
    hidden_bias: Tensor,
    inputs: Tensor,
    input_bias: Tensor,
    *,
    start: Tensor | None = None,
    lengths: Tensor | None = None,
    rescale: bool = False,
    states: bool = False,
    words_log_scale: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The last states of E circuits: vector (E, B, H) and log_scale (E, B); with gradients of all but lengths.

    words (T, B, d), the same for all models, or (E, T, B, d); hidden W_H (E, H, H) and b_H (E, H); inputs W_I
    (E, H, d) and b_I (E, H); start h_0 (E, B, H), by default 0. ``states``: those after every word instead, vector
    (E, T, B, H) and log_scale (E, T, B). They can be the words of another layer, with their scale if they have one.
    """
    models, width, features = inputs.shape
    steps, batch = words.shape[-3:-1]
    _check("words", words, (steps, batch, features), (models, steps, batch, features))
    _check("input bias", input_bias, (models, width))
    x = (words if words.dim() == 4 else words[None]).to(hidden.dtype).permute(0, 3, 1, 2)  # (E or 1, d, T, B)
    gate_exponent, one = None, x.new_ones(len(x), 1, steps, batch)
    if words_log_scale is not None:
        _check("scale of words", words_log_scale, (*x.shape[:1], steps, batch))
        if not rescale:
            raise ValueError("words with a scale need rescale=True")
        gate_exponent = (words_log_scale / math.log(2)).round().to(torch.int32)
        one = (-gate_exponent).to(x.dtype).exp2()[:, None]
    sequences = Sequences.of(lengths, steps, batch)
    rows = torch.cat([sequences.sorted(x), sequences.sorted(one)], 1)
    weights = torch.cat([inputs, input_bias[:, :, None]], 2)
    if gate_exponent is not None:
        gate_exponent = sequences.sorted(gate_exponent).expand(models, -1, -1)
    return _run(rows, weights, hidden, hidden_bias, start, sequences, gate_exponent, rescale, states)


def scan(
    gates: Tensor,
    weight: Tensor,
    bias: Tensor,
    *,
    start: Tensor | None = None,
    lengths: Tensor | None = None,
    rescale: bool = False,
    states: bool = False,
) -> tuple[Tensor, Tensor]:
    """As ``rac``, of h_t = (W h_{t-1} + b) * gates_t with ready gates (E, T, B, H), weight (E, H, H), bias (E, H).

    Gates that are affine in words cost less as ``rac``.
    """
    _check("gates", gates, (len(weight), *gates.shape[1:3], weight.shape[2]))
    sequences = Sequences.of(lengths, *gates.shape[1:3])
    rows = sequences.sorted(gates.to(weight.dtype).permute(0, 3, 1, 2)).contiguous()
    return _run(rows, None, weight, bias, start, sequences, None, rescale, states)


def _check(what: str, tensor: Tensor, *shapes: tuple[int, ...]) -> None:
    if tuple(tensor.shape) not in shapes:
        raise ValueError(f"{what} of shape {tuple(tensor.shape)} instead of {' or '.join(map(str, shapes))}")


def _run(
    x: Tensor,
    inputs: Tensor | None,
    weight: Tensor,
    bias: Tensor,
    start: Tensor | None,
    sequences: Sequences,
    gate_exponent: Tensor | None,
    rescale: bool,
    states: bool,
) -> tuple[Tensor, Tensor]:
    """Of sorted words [x; 1] (E or 1, d + 1, T, B), or of gates (E, H, T, B) where there are no inputs [W_I b_I]."""
    models, width = weight.shape[:2]
    _check("weight", weight, (models, width, width))
    _check("bias", bias, (models, width))
    if start is not None:
        _check("start", start, (models, x.shape[3], width))
        start = start.to(weight.dtype).mT
        start = start if sequences.order is None else start.index_select(-1, sequences.order)
    weights = torch.cat([weight, bias[:, :, None]], 2)
    keep = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, inputs, weights, start))
    plan = Plan(sequences, rescale, gate_exponent, states, keep)
    vector, exponent = _Recurrence.apply(x, inputs, weights, start, plan)  # type: ignore[no-untyped-call]
    if rescale and not states:  # whatever was needed on the way, the scale is what the state alone would have
        exponent, factor = rescaled(vector.detach(), exponent, least_exponent(weights.detach()))
        vector = vector * factor[:, None]
    vector, exponent = sequences.restored(vector, states=states), sequences.restored(exponent, states=states)
    return vector.movedim(1, -1), exponent.to(vector.dtype) * math.log(2)


class _Recurrence(torch.autograd.Function):
    """(x (E or 1, d + 1, T, B), [W_I b_I] or None, [W_H b_H], start (E, H, B) or None, plan) -> values and exponents.

    Values are (E, H, B) or (E, H, T, B), h = values 2^exponent, of (E, B) or (E, T, B).
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, inputs: Tensor | None, weight: Tensor, start: Tensor | None, plan: Plan
    ) -> tuple[Tensor, Tensor]:
        models, width, _ = weight.shape
        steps, batch = x.shape[2:]
        chunk = models_at_once(steps * batch, width, x.dtype)
        values = x.new_empty((models, width, steps, batch) if plan.states else (models, width, batch))
        exponent = x.new_empty((models, steps, batch) if plan.states else (models, batch), dtype=torch.int32)
        ctx.tapes = []
        with torch.autocast(x.device.type, enabled=False):
            for first in range(0, models, chunk):
                some = slice(first, min(first + chunk, models))
                tape = Tape.blank(some.stop - first, width, x, plan)
                _fill_gates(x, inputs, some, tape.gates)
                begin = None if start is None else start[some]
                values[some], exponent[some] = forth(weight[some], tape, begin, plan.part(some))
                if plan.keep:
                    ctx.tapes.append((some, tape))
        ctx.save_for_backward(x, inputs, weight)
        ctx.plan, ctx.started = plan, start is not None
        ctx.mark_non_differentiable(exponent)
        return values, exponent

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        x, inputs, weight = ctx.saved_tensors
        of_weight = torch.empty_like(weight)
        of_start = x.new_empty(len(weight), weight.shape[1], x.shape[3]) if ctx.started else None
        of_x = torch.zeros_like(x) if ctx.needs_input_grad[0] else None
        of_inputs = torch.empty_like(inputs) if ctx.needs_input_grad[1] else None
        with torch.autocast(x.device.type, enabled=False):  # a backward pass may run inside of it
            for some, tape in ctx.tapes:
                if tape.spent:  # an earlier way back has written over it
                    _fill_gates(x, inputs, some, tape.gates)
                    torch.bmm(weight[some], tape.state[:, :, :-1].flatten(2), out=tape.before.flatten(2))
                found = back(weight[some], tape, gradient[some], ctx.plan)
                of_weight[some] = found.weight
                if of_start is not None:
                    of_start[some] = found.start
                _back_from_gates(found.gates, x, inputs, some, of_x, of_inputs)
        return of_x, of_inputs, of_weight, of_start, None


def _fill_gates(x: Tensor, inputs: Tensor | None, some: slice, gates: Tensor) -> None:
    """u of some models into (E, H, T, B): [W_I b_I] [x; 1], for words that all models share in one product."""
    if inputs is None:
        gates.copy_(x[some])
    elif len(x) == 1:
        torch.mm(inputs[some].flatten(0, 1), x[0].flatten(1), out=gates.flatten(2).flatten(0, 1))
    else:
        torch.bmm(inputs[some], x[some].flatten(2), out=gates.flatten(2))


def _back_from_gates(
    of_gates: Tensor, x: Tensor, inputs: Tensor | None, some: slice, of_x: Tensor | None, of_inputs: Tensor | None
) -> None:
    """From the gradient of some models' gates to those of their inputs and of the words, into the last two."""
    if inputs is None:
        if of_x is not None:
            of_x[some] = of_gates
        return
    weights, rows, words = inputs[some], of_gates.flatten(2), x.flatten(2)  # (E, H, d + 1), (E, H, N), (., d + 1, N)
    if len(x) == 1:
        joined = rows.flatten(0, 1)
        if of_inputs is not None:
            torch.mm(joined, words[0].mT, out=of_inputs[some].flatten(0, 1))
        if of_x is not None:
            of_x[0].flatten(1).addmm_(weights.flatten(0, 1).mT, joined)
    else:
        if of_inputs is not None:
            torch.bmm(rows, words[some].mT, out=of_inputs[some])
        if of_x is not None:
            torch.bmm(weights.mT, rows, out=of_x[some].flatten(2))
