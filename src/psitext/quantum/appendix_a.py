"""Appendix A of the QBERT paper, done right: does a circuit give what the network gives?

The paper compares logits of 16 random states on 3 qubits, and reports a mean squared error of 4.29e-10 as proof. Its
logits have weights of deviation 0.001, so any error would be tiny; its "shots" landed on another parameter, so it ran
1,000 of them; and its states had no signs. Here the question is taken apart: the exact probabilities of the circuit
must equal the network's to 1e-10; and counts at several numbers of shots must be what draws from the network's
probabilities look like, by a chi-square test that would tell if they were not. The paper's error stands beside.

Letters: B states, n qubits, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import torch
from scipy.stats import chi2
from torch import Tensor

from psitext.heads.measurement import PAPER, MeasurementHead
from psitext.nn.unitary.born import probabilities
from psitext.quantum.gates import Complex, Real
from psitext.quantum.head import HeadCircuit, from_head
from psitext.quantum.machines.machine import ideal
from psitext.quantum.running import measure
from psitext.randomness import generator, torch_seed

EXPECTED = 5.0  # counts that a reading needs for the chi-square law to hold (Cochran 1954)


@dataclass(frozen=True, slots=True)
class Row:
    """A head at a number of shots; ``shots`` None is the exact circuit."""

    std: float  # deviation of each part of W and of the read-out
    shots: int | None
    largest: float  # max |p_circuit - p_network| over states and outcomes
    distance: float  # mean total variation
    expected_distance: float | None  # what draws from the network's probabilities give on average; None: 0, exact
    p_value: float | None  # of the chi-square test of all states together; below 0.001 something is wrong
    mse: float  # of the logits, which is what the paper reports

    def record(self) -> dict[str, object]:
        """As a row of a table."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


def table(
    shots: Sequence[int] = (1_000, 10_000, 100_000),
    stds: Sequence[float] = (0.001, 1.0),
    *,
    qubits: int = 3,
    states: int = 16,
    classes: int = 2,
    seed: int = 0,
) -> list[Row]:
    """A row for every deviation: the exact circuit, then one for every number of shots.

    States are Haar-random: complex normal vectors, normalised. The network runs in double precision.
    """
    rows = []
    for std in stds:
        head, kets, network = _case(std, qubits, states, classes, seed)
        for count in (None, *shots):
            found = measure(head, kets, ideal(), count, seed=seed).found
            errors = found - network
            rows.append(
                Row(
                    std=std,
                    shots=count,
                    largest=float(np.abs(errors).max()),
                    distance=float(np.abs(errors).sum(1).mean() / 2),
                    expected_distance=None if count is None else expected_distance(network, count),
                    p_value=None if count is None else p_value(found, network, count),
                    mse=float(((errors @ head.weight.T) ** 2).mean()),
                )
            )
    return rows


def _case(std: float, qubits: int, states: int, classes: int, seed: int) -> tuple[HeadCircuit, Complex, Real]:
    """A random head, random kets, and what the network says of them, in torch and complex128."""
    config = PAPER.model_copy(update={"init_std": std, "readout_std": std})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "appendix a"))
        module = MeasurementHead(1 << qubits, classes, config).double().eval()
    draws = generator(seed, "haar").standard_normal((2, states, 1 << qubits))
    kets = draws[0] + 1j * draws[1]
    kets /= np.linalg.norm(kets, axis=1, keepdims=True)
    with torch.no_grad():
        turned: Tensor = module.turn(torch.from_numpy(kets))
    return from_head(module), kets, np.asarray(probabilities(turned).numpy())


def expected_distance(probs: Real, shots: int) -> float:
    """Mean total variation between probabilities (B, outcomes) and shares of that many draws, by the normal law of
    large counts: half the sum of sqrt(2 / pi) sqrt(p (1 - p) / shots).
    """
    return float(np.sqrt(2 * probs * (1 - probs) / (np.pi * shots)).sum(1).mean() / 2)


def p_value(shares: Real, probs: Real, shots: int) -> float:
    """How likely counts at least as far from their expectations are, (B, outcomes); Pearson's chi-square over all rows.

    Outcomes of which fewer than 5 are expected are put together, row by row.
    """
    statistic, freedom = 0.0, 0
    for share, prob in zip(shares, probs, strict=True):
        common = prob * shots >= EXPECTED
        expected = np.append(prob[common], prob[~common].sum()) * shots
        counted = np.append(share[common], share[~common].sum()) * shots
        real = expected >= EXPECTED
        if not real[-1]:  # too little even together: it joins the rarest of the others
            rarest = int(np.argmin(np.where(real, expected, np.inf)))
            expected[rarest] += expected[-1]
            counted[rarest] += counted[-1]
        statistic += float(((counted - expected)[real] ** 2 / expected[real]).sum())
        freedom += max(0, int(real.sum()) - 1)
    return float(chi2.sf(statistic, freedom)) if freedom else 1.0
