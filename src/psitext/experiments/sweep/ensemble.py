"""Many circuits trained side by side: one axis of a tensor, on the same batches, each stopped in its own time.

Letters: E restarts, B texts, T words, N words of the vocabulary and the padding, d features, H = chi.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Adam

from psitext.encoders.rac import Rac, RacConfig
from psitext.experiments.sweep.protocol import Protocol
from psitext.experiments.sweep.reading import Table
from psitext.nn.scan.recurrence import rac
from psitext.randomness import generator, torch_seed

Weights = dict[str, Tensor]  # each with the axis E in front

AT_ONCE = 1_000  # texts of an evaluation


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """One restart at the end of its training."""

    seed: int
    weights: Weights  # without the axis E
    losses: tuple[float, ...]  # mean training loss of every epoch
    diverged: bool  # a loss that is no number, at which it stopped


@dataclass(slots=True)
class _Progress:
    """How far a restart has come."""

    losses: list[float] = field(default_factory=list)
    best: float = math.inf
    waited: int = 0

    def stops(self, loss: float, protocol: Protocol) -> bool:
        """Take the loss of an epoch; whether training ends after it (Keras' EarlyStopping on the training loss)."""
        self.losses.append(loss)
        if loss < self.best - protocol.min_delta:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
        return not math.isfinite(loss) or self.waited >= protocol.patience or len(self.losses) >= protocol.epochs


def fresh(protocol: Protocol, bond: int, words: int, seeds: list[int]) -> Weights:
    """The weights of restarts, each decided by its seed alone: ``hidden`` (E, H, H), ``hidden_bias`` (E, H), ``inputs``
    (E, H, d), ``input_bias`` (E, H), ``readout`` (E, H), ``bias`` (E,), and ``words`` (E, N, d) where they are trained.
    """
    shape = RacConfig(
        vocab_size=words,
        features=protocol.features,
        bond=bond,
        max_len=protocol.steps + 2,
        init=protocol.init,
        biases=protocol.biases,
    )
    made = []
    for seed in seeds:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(torch_seed(protocol.seed, "restart", bond, seed))
            circuit = Rac(shape)
            bound = math.sqrt(6 / (bond + 1))  # Glorot's, of one output
            one: Weights = {name: weight.detach() for name, weight in circuit.cells[0].named_parameters()}
            one |= {"readout": torch.empty(bond).uniform_(-bound, bound), "bias": torch.zeros(())}
            if protocol.words == "joint":
                one["words"] = circuit.token.weight.detach()
        made.append(one)
    return {name: torch.stack([one[name] for one in made]) for name in made[0]}


def logits(weights: Weights, ids: Tensor, vectors: Tensor | None) -> Tensor:
    """(E, B) log-odds of rows (B, T); ``vectors`` (N, d) are fixed word vectors, None: each restart's own."""
    if vectors is not None:
        x = vectors[ids.T]  # (T, B, d), the same for all
    else:
        table = weights["words"]  # (E, N, d)
        models, words, _ = table.shape
        offsets = torch.arange(models)[:, None, None] * words
        x = F.embedding(ids.T + offsets, table.flatten(0, 1))  # (E, T, B, d)
    cell = (weights[name] for name in ("hidden", "hidden_bias", "inputs", "input_bias"))
    state, _ = rac(x, *cell)  # (E, B, H)
    return torch.einsum("ebh,eh->eb", state, weights["readout"]) + weights["bias"][:, None]


def train(
    protocol: Protocol,
    bond: int,
    table: Table,
    words: int,
    vectors: Tensor | None,
    seeds: list[int],
    watch: Callable[[int, int, float], None] = lambda epoch, alive, loss: None,
) -> list[Trained]:
    """Train restarts together, each until its own early stopping; in the order of ``seeds``.

    The gradient of each restart is its own, and so are its moments; batches are the same for all.
    """
    weights = fresh(protocol, bond, words, seeds)
    alive = list(seeds)
    progress = {seed: _Progress() for seed in seeds}
    done: dict[int, Trained] = {}
    adam = _adam(protocol, weights)
    for epoch in range(protocol.epochs):
        losses = _epoch(protocol, weights, adam, table, vectors, epoch)
        ended = [progress[seed].stops(loss, protocol) for seed, loss in zip(alive, losses, strict=True)]
        watch(epoch, len(alive), float(np.nanmean(losses)) if np.isfinite(losses).any() else math.nan)
        for at, (seed, end) in enumerate(zip(alive, ended, strict=True)):
            if end:
                own = {name: weight.detach()[at].clone() for name, weight in weights.items()}
                done[seed] = Trained(seed, own, tuple(progress[seed].losses), not math.isfinite(losses[at]))
        if any(ended):
            keep = [at for at, end in enumerate(ended) if not end]
            alive = [alive[at] for at in keep]
            if not alive:
                break
            weights, adam = _kept(protocol, weights, adam, keep)
    return [done[seed] for seed in seeds]


def accuracy(weights: Weights, table: Table, vectors: Tensor | None) -> Tensor:
    """(E,) share of rows whose log-odds have the right sign."""
    right = torch.zeros(len(weights["bias"]))
    with torch.no_grad():
        for begin in range(0, len(table), AT_ONCE):
            rows = slice(begin, begin + AT_ONCE)
            right += ((logits(weights, table.ids[rows], vectors) > 0) == (table.label[rows] > 0)).sum(1)
    return right / len(table)


def _epoch(
    protocol: Protocol, weights: Weights, adam: Adam, table: Table, vectors: Tensor | None, epoch: int
) -> list[float]:
    """One pass over the rows; the mean loss of each restart over its batches."""
    total = torch.zeros(len(weights["bias"]))
    for rows in batches(protocol, len(table), epoch):
        scores = logits(weights, table.ids[rows], vectors)
        wanted = table.label[rows].expand_as(scores)
        losses = F.binary_cross_entropy_with_logits(scores, wanted, reduction="none").mean(1)
        adam.zero_grad(set_to_none=True)
        losses.sum().backward()
        if protocol.clip:
            _clip(weights, protocol.clip)
        adam.step()
        total += losses.detach() * len(rows)
    return [float(loss) for loss in total / len(table)]


def batches(protocol: Protocol, count: int, epoch: int) -> Iterator[Tensor]:
    """The rows of every batch of an epoch, the last one short."""
    order = torch.from_numpy(generator(protocol.seed, "sweep", "order", epoch).permutation(count))
    yield from order.split(protocol.batch)


def _clip(weights: Weights, largest: float) -> None:
    """Scale the gradients of each restart to a norm of at most ``largest``."""
    slopes = [weight.grad for weight in weights.values() if weight.grad is not None]
    norms = torch.stack([slope.flatten(1).norm(dim=1) if slope.ndim > 1 else slope.abs() for slope in slopes])
    factor = (largest / norms.norm(dim=0)).clamp_max(1.0)  # (E,)
    for slope in slopes:
        slope.mul_(factor.view(-1, *[1] * (slope.ndim - 1)))


def _adam(protocol: Protocol, weights: Weights) -> Adam:
    fixed = () if protocol.biases else ("hidden_bias", "input_bias")
    for name, weight in weights.items():
        weight.requires_grad_(name not in fixed)
    trained = [weight for weight in weights.values() if weight.requires_grad]
    return Adam(trained, lr=protocol.lr, eps=protocol.eps, fused=True)


def _kept(protocol: Protocol, weights: Weights, adam: Adam, keep: list[int]) -> tuple[Weights, Adam]:
    """The restarts that go on, with their moments."""
    smaller = {name: weight.detach()[keep] for name, weight in weights.items()}
    after = _adam(protocol, smaller)
    for name, weight in weights.items():
        if weight in adam.state:
            state = adam.state[weight]
            moments = {key: state[key][keep] for key in ("exp_avg", "exp_avg_sq")}
            after.state[smaller[name]] = {"step": state["step"].clone(), **moments}
    return smaller, after
