"""Training of a hardware-efficient head on a machine, from what it reads alone: for a few qubits and little data.

Two ways to get at the gradient by the angles:

- parameter shift: for gates exp(-i angle P / 2) it is exactly half the difference of the probabilities at the angle
  plus and minus a quarter turn (Schuld et al. 2019). Two runs for every angle, ket and step,
  besides one for the loss.
- SPSA: all angles are moved at once by +-c at random, and the difference of two losses says how far to go along that
  direction (Spall 1992). Two runs for every ket and step, besides one for the loss, and much noise.

The read-out behind the measurement is classical and gets its exact gradient. Adam takes the steps in both.
Letters: B kets, n qubits, K classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from psitext.errors import UserError
from psitext.heads.measurement import MeasurementHead
from psitext.nn.unitary.circuit import Circuit, gradient_variance
from psitext.quantum.gates import TURNS, Complex, Real
from psitext.quantum.head import HeadCircuit
from psitext.quantum.machines.machine import Machine, ideal
from psitext.quantum.running import measure
from psitext.randomness import generator, torch_seed

Method = Literal["parameter-shift", "spsa"]
QUARTER = np.pi / 2
MOVE, MOVE_DECAY = 0.2, 0.101  # SPSA's c, in radians, and how it falls with the step (Spall 1998)


@dataclass(frozen=True, slots=True)
class Course:
    """How to train. ``shots`` None takes exact probabilities, which only the ideal machine has. Errors: a rate that is
    no number above 0.
    """

    method: Method = "parameter-shift"
    steps: int = 20
    lr: float = 0.1
    shots: int | None = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.lr < math.inf:
            raise UserError(f"a rate of training is a number above 0, not {self.lr:g}")


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """The head after training, the loss before every step, and what it took."""

    head: HeadCircuit
    losses: tuple[float, ...]
    gradient_norms: tuple[float, ...]  # of the angles' estimated gradient at every step
    circuits: int  # run in all


def train(
    head: HeadCircuit,
    kets: Complex,
    gold: npt.NDArray[Any],
    course: Course | None = None,
    machine: Machine | None = None,
) -> Trained:
    """Train a head of gates on kets (B, 2^n) and their class ids (B,), or scores (B,) where it gives one number.

    Errors: a head that is one matrix and has no angles; those of ``measure``.
    """
    course, machine = course or Course(), machine or ideal()
    angles, weight, bias = (
        torch.tensor(part, requires_grad=True) for part in (angles_of(head), head.weight, head.bias)
    )
    if not len(angles):
        raise UserError("this head has no angles to train on a machine; train one with head.unitary=circuit first")
    adam = torch.optim.Adam([angles, weight, bias], lr=course.lr)
    loss_of = _loss(gold)
    losses: list[float] = []
    norms: list[float] = []
    runs = 0

    def readings(at: Real, key: int) -> Real:
        nonlocal runs
        runs += len(kets)
        draw = torch_seed(course.seed, "angles", len(losses), key)
        return measure(with_angles(head, at), kets, machine, course.shots, seed=draw).found

    def loss_at(at: Real, key: int) -> float:
        return loss_of(torch.from_numpy(readings(at, key)) @ weight.detach().T + bias.detach()).item()

    for step in range(course.steps):
        now = angles.detach().numpy().copy()
        probs = torch.from_numpy(readings(now, 0)).requires_grad_()
        loss = loss_of(probs @ weight.T + bias)
        adam.zero_grad()
        loss.backward()
        assert probs.grad is not None
        if course.method == "spsa":
            slope = _spsa(now, _move(len(now), step, course.seed), loss_at)
        else:
            slope = _shift(now, readings, probs.grad.numpy())
        angles.grad = torch.from_numpy(slope)
        losses.append(loss.item())
        norms.append(float(np.linalg.norm(slope)))
        adam.step()
    done = with_angles(head, angles.detach().numpy())
    done = replace(done, weight=weight.detach().numpy(), bias=bias.detach().numpy())
    return Trained(done, tuple(losses), tuple(norms), runs)


def angles_of(head: HeadCircuit) -> Real:
    """The angles of a head's gates, in the order of time."""
    return np.array([angle for name, _, angle in head.gates if name in TURNS], dtype=np.float64)


def with_angles(head: HeadCircuit, angles: Sequence[float] | Real) -> HeadCircuit:
    """The same gates at other angles."""
    left = iter(angles)
    return replace(
        head, gates=tuple((name, at, float(next(left)) if name in TURNS else None) for name, at, _ in head.gates)
    )


@torch.no_grad()
def assign(module: MeasurementHead, trained: HeadCircuit) -> None:
    """Put what was trained on a machine back into the module that it came from, in place."""
    if not isinstance(module.turn, Circuit):
        raise UserError("only a head of gates can take angles back")
    in_time = torch.from_numpy(angles_of(trained)).reshape(module.turn.angles.shape)  # (L, n, 2): RZ, then RY
    module.turn.angles.copy_(in_time.flip(-1))
    module.output.weight.copy_(torch.from_numpy(trained.weight / module.scale))
    if module.output.bias is not None:
        module.output.bias.copy_(torch.from_numpy(trained.bias))


def plateau(qubits: Sequence[int], layers: int, samples: int = 200, seed: int = 0) -> list[dict[str, float | None]]:
    """How gradients shrink with the number of qubits: a row for each, with the variance of d<Z_0>/d(angle) over random
    circuits, and its ratio to the row before. A barren plateau halves it with every qubit (McClean et al. 2018).
    """
    rows: list[dict[str, float | None]] = []
    before: float | None = None
    for count in qubits:
        variance = gradient_variance(count, layers, samples, seed)
        ratio = None if before is None else variance / before
        rows.append({"qubits": count, "layers": layers, "gradient variance": variance, "ratio": ratio})
        before = variance
    return rows


def _shift(now: Real, readings: Callable[[Real, int], Real], by_probs: Real) -> Real:
    """The gradient of the loss by the angles: the chain rule through the probabilities, (B, outcomes)."""
    slope = np.empty_like(now)
    for index in range(len(now)):
        move = QUARTER * (np.arange(len(now)) == index)
        ahead, behind = readings(now + move, 2 * index + 1), readings(now - move, 2 * index + 2)
        slope[index] = (by_probs * (ahead - behind)).sum() / 2
    return slope


def _spsa(now: Real, move: Real, loss_at: Callable[[Real, int], float]) -> Real:
    """Its estimate from two losses."""
    return np.asarray((loss_at(now + move, 1) - loss_at(now - move, 2)) / (2 * move))


def _move(count: int, step: int, seed: int) -> Real:
    """SPSA's move of all angles at a step."""
    signs = generator(seed, "spsa", step).choice([-1.0, 1.0], size=count)
    return np.asarray(MOVE / (1 + step) ** MOVE_DECAY * signs)


def _loss(gold: npt.NDArray[Any]) -> Callable[[Tensor], Tensor]:
    """Logits (B, K) to the mean loss: cross-entropy of classes, or squared error of scores."""
    target = torch.from_numpy(np.asarray(gold))
    if target.is_floating_point():
        return lambda logits: F.mse_loss(logits[:, 0], target.to(logits.dtype))
    return lambda logits: F.cross_entropy(logits, target.long())
