"""Misreadings are undone, on whichever wires a machine's own layout reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from qiskit.providers.fake_provider import GenericBackendV2
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, ReadoutError

from kets import haar, module
from psitext.errors import UserError
from psitext.quantum import from_head, ideal, measure, noisy, on
from psitext.quantum.circuits.build import measured, prepare
from psitext.quantum.circuits.order import wire
from psitext.quantum.machines import mitigation
from psitext.quantum.machines.noise import Noise

HEAD, KETS = from_head(module(8)), haar(3, 4)


def test_law_what_flips_back_and_forth_is_known_exactly() -> None:
    """Against the inverse of the tensor product of every qubit's flips, on counts without shot noise."""
    pytest.importorskip("mthree", reason="needs psitext[mitigation]")
    rates = np.array([[0.02, 0.08], [0.1, 0.03], [0.05, 0.05]])  # of wires 0, 1, 2: 0 read as 1, 1 as 0
    flips = [np.array([[1 - zero, one], [zero, 1 - one]]) for zero, one in rates]
    truth = np.abs(KETS[0]) ** 2
    seen = np.kron(np.kron(flips[2], flips[1]), flips[0]) @ truth
    from mthree import M3Mitigation

    correction = M3Mitigation(None)
    correction.cals_from_matrices(flips)
    circuit = measured([prepare(KETS[0]).circuit], 3)
    counts = np.round(seen * 1e9).astype(np.int64)
    np.testing.assert_allclose(mitigation.corrected(counts, circuit, correction), truth, atol=1e-5)


@pytest.mark.parametrize("groups", [None, 2])
def test_law_correction_brings_readings_back(groups: int | None) -> None:
    pytest.importorskip("mthree", reason="needs psitext[mitigation]")
    head, machine = from_head(module(8, groups=groups)), noisy(Noise(0, 0.08))
    raw, better = (measure(head, KETS, machine, 30_000, mitigate=wanted) for wanted in (False, True))
    assert better.distances.mean() < 0.25 * raw.distances.mean()
    np.testing.assert_allclose(better.found.sum(1), 1, atol=1e-12)
    assert (better.found >= 0).all()


def test_law_a_backends_own_wires_are_calibrated() -> None:
    """A routed circuit reads other wires than it began on; calibration must find them."""
    pytest.importorskip("mthree", reason="needs psitext[mitigation]")
    backend = GenericBackendV2(5, coupling_map=[[0, 1], [1, 2], [2, 3], [3, 4]], seed=3)
    machine = on(backend)
    circuits = [machine.translate(measured([prepare(ket).circuit], 3)) for ket in KETS]
    correction = mitigation.calibrated(machine, circuits, 2_000, 0, 0)
    for circuit in circuits:
        read = mitigation.reading_wires(circuit)
        assert len(set(read)) == 3
        assert all(correction.single_qubit_cals[each] is not None for each in read)
    run = measure(HEAD, KETS, machine, 2_000, mitigate=True)
    assert np.isfinite(run.found).all()


def test_law_calibration_finds_how_often_each_reading_flips() -> None:
    """Zeros and ones are misread at different rates here."""
    pytest.importorskip("mthree", reason="needs psitext[mitigation]")
    errors = NoiseModel()
    errors.add_all_qubit_readout_error(ReadoutError([[0.97, 0.03], [0.2, 0.8]]))
    machine = on(AerSimulator(noise_model=errors))
    circuits = [machine.translate(measured([prepare(KETS[0]).circuit], 2))]
    found = mitigation.calibrated(machine, circuits, 20_000, 0, 0).single_qubit_cals
    assert found[0] is None  # wire 0, the last qubit, is not read
    for wire_ in (1, 2):
        np.testing.assert_allclose(found[wire_], [[0.97, 0.2], [0.03, 0.8]], atol=0.015)


def test_known_the_wires_of_bits() -> None:
    circuit = measured([prepare(KETS[0]).circuit], 2)
    assert mitigation.reading_wires(circuit) == [wire(1, 3), wire(0, 3)]


def test_known_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for machine in (ideal(), noisy(Noise(0.01))):
        with pytest.raises(UserError, match="misreads nothing, so there is nothing to correct"):
            measure(HEAD, KETS, machine, 10, mitigate=True)
    with pytest.raises(UserError, match="name the number of shots"):
        measure(HEAD, KETS, noisy(Noise(0, 0.1)), None, mitigate=True)
    monkeypatch.setitem(sys.modules, "mthree", None)
    with pytest.raises(UserError, match=r"correcting readings needs mthree: pip install 'psitext\[mitigation\]'"):
        measure(HEAD, KETS, noisy(Noise(0, 0.1)), 10, mitigate=True)
