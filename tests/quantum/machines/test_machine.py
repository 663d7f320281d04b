"""Machines: counts that follow the seed, backends and samplers of qiskit, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from qiskit.primitives import StatevectorSampler
from qiskit.providers.basic_provider import BasicSimulator
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer.primitives import SamplerV2

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import from_head, ideal, measure, noisy, on
from psitext.quantum.machines.noise import Noise
from psitext.quantum.running import TOGETHER

HEAD, KETS = from_head(module(8, groups=4)), haar(3, 3)
SHOTS = 20_000


def test_law_the_same_seed_gives_the_same_counts() -> None:
    for machine in (ideal(), noisy(Noise(0.01))):
        first, same, other = (measure(HEAD, KETS, machine, 500, seed=seed).found for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, same)
        assert (first != other).any()


def test_law_equal_kets_are_drawn_apart() -> None:
    """Circuits of one batch, and of different batches, must not share their draws."""
    found = measure(HEAD, np.repeat(KETS[:1], 2 * TOGETHER, axis=0), ideal(), 500).found
    assert len(np.unique(found, axis=0)) > 2 * TOGETHER - 3


@pytest.mark.parametrize(
    "machine",
    [ideal(), on(StatevectorSampler(seed=1)), on(SamplerV2(seed=1)), on(BasicSimulator())],
    ids=lambda machine: machine.name,
)
def test_parity_every_machine_without_noise_agrees(machine: object) -> None:
    run = measure(HEAD, KETS, machine, SHOTS, seed=3)  # type: ignore[arg-type]
    np.testing.assert_allclose(run.found, run.exact, atol=0.02)
    assert (run.distances < 0.02).all() and (run.distances > 0).all()


def test_law_a_backend_with_errors_shows_them() -> None:
    run = measure(HEAD, KETS, on(GenericBackendV2(4, seed=1)), SHOTS)
    assert run.distances.mean() > 0.02 and run.machine == "generic_backend_4q"


def test_known_what_is_refused() -> None:
    with pytest.raises(UserError, match="0 shots measure nothing; one at least"):
        measure(HEAD, KETS, ideal(), 0)
    with pytest.raises(UserError, match="generic_backend_2q has 2 qubits, and these circuits take 3"):
        measure(HEAD, KETS, on(GenericBackendV2(2, seed=1)), 10)
    with pytest.raises(UserError, match="a str runs no circuits; give a qiskit BackendV2 or SamplerV2"):
        on("ibm")  # type: ignore[arg-type]
    for machine in (noisy(Noise(0.1)), on(GenericBackendV2(3, seed=1))):
        with pytest.raises(UserError, match="show in counts; name the number of shots"):
            measure(HEAD, KETS, machine, None)
    wide = from_head(module(512))
    with pytest.raises(UserError, match="a dense head of 9 qubits takes 119,383 CX gates"):
        measure(wide, haar(9), noisy(Noise(0.001)), 10)
