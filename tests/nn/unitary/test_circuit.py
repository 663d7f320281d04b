"""The hardware-efficient circuit: against Kronecker products, against PennyLane, and by the parameter-shift rule."""

from __future__ import annotations

import math
from functools import reduce
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from psitext.errors import UserError
from psitext.nn.unitary.born import probabilities
from psitext.nn.unitary.circuit import Circuit, Entangler, Gate, gates, gradient_variance, pairs, rotations, run

DOUBLE = torch.complex128
ENTANGLERS: list[Entangler] = list(get_args(Entangler))
ONE = {
    "1": torch.eye(2, dtype=DOUBLE),
    "X": torch.tensor([[0, 1], [1, 0]], dtype=DOUBLE),
    "Y": torch.tensor([[0, -1j], [1j, 0]], dtype=DOUBLE),
    "Z": torch.tensor([[1, 0], [0, -1]], dtype=DOUBLE),
    "0": torch.tensor([[1, 0], [0, 0]], dtype=DOUBLE),  # |0><0|
    "I": torch.tensor([[0, 0], [0, 1]], dtype=DOUBLE),  # |1><1|
}


def on(qubits: int, **where: Tensor) -> Tensor:
    """The Kronecker product of 2x2 matrices, qubit 0 leftmost; ``q2=X`` puts X on qubit 2."""
    return reduce(torch.kron, [where.get(f"q{qubit}", ONE["1"]) for qubit in range(qubits)])


def literal(qubits: int, gate: Gate) -> Tensor:
    """A gate on all qubits as its definition reads."""
    name, at, angle = gate
    if angle is None:
        control, target = (f"q{qubit}" for qubit in at)
        return on(qubits, **{control: ONE["0"]}) + on(qubits, **{control: ONE["I"], target: ONE[name[1].upper()]})
    return torch.matrix_exp(-0.5j * angle * on(qubits, **{f"q{at[0]}": ONE[name[1].upper()]}))


def angles_of(qubits: int, layers: int, seed: int = 0) -> Tensor:
    return 6.0 * torch.rand(layers, qubits, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def kets(count: int, qubits: int) -> Tensor:
    ket = torch.randn(count, 1 << qubits, dtype=DOUBLE, generator=torch.Generator().manual_seed(3))
    return ket / torch.linalg.vector_norm(ket, dim=-1, keepdim=True)


@pytest.mark.parametrize("entangler", ENTANGLERS)
@pytest.mark.parametrize("qubits", [1, 2, 3, 4, 7])
def test_parity_with_kronecker_products(qubits: int, entangler: Entangler) -> None:
    angles, ket = angles_of(qubits, 3), kets(2, qubits)
    expected = ket
    for gate in gates(angles, entangler):
        expected = expected @ literal(qubits, gate).T
    assert_close(run(ket, angles, entangler), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("entangler", ENTANGLERS)
def test_parity_with_pennylane(entangler: Entangler) -> None:
    """Another simulator, with its own gates and the same order of qubits."""
    qml = pytest.importorskip("pennylane", reason="needs PennyLane")
    qubits, angles, ket = 4, angles_of(4, 3), kets(1, 4)[0]

    @qml.qnode(qml.device("default.qubit", wires=qubits))
    def circuit() -> object:
        qml.StatePrep(ket.numpy(), wires=range(qubits))
        for name, wires, angle in gates(angles, entangler):
            if angle is None:
                {"cz": qml.CZ, "cx": qml.CNOT}[name](wires=wires)
            else:
                {"ry": qml.RY, "rz": qml.RZ}[name](angle, wires=wires)
        return qml.state()

    assert_close(run(ket[None], angles, entangler)[0], torch.as_tensor(circuit()), rtol=0, atol=1e-12)


def test_known_gates_in_the_order_of_time() -> None:
    angles = torch.arange(8, dtype=torch.float64).reshape(2, 2, 2)
    assert gates(angles, "cx-ring") == (
        ("rz", (0,), 1.0),
        ("ry", (0,), 0.0),
        ("rz", (1,), 3.0),
        ("ry", (1,), 2.0),
        ("cx", (0, 1), None),
        ("rz", (0,), 5.0),
        ("ry", (0,), 4.0),
        ("rz", (1,), 7.0),
        ("ry", (1,), 6.0),
    )
    assert pairs(4, "cz-ring") == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert pairs(4, "cz-chain") == [(0, 1), (1, 2), (2, 3)]
    assert pairs(2, "cx-ring") == [(0, 1)], "two gates on one pair would undo each other"
    assert pairs(1, "cx-ring") == []


def test_known_qubit_0_is_the_most_significant_bit() -> None:
    angles = torch.zeros(1, 3, 2, dtype=torch.float64)
    angles[0, 0, 0] = math.pi  # RY(pi)|0> = |1>
    start = torch.eye(1, 8, dtype=DOUBLE)
    assert_close(run(start, angles, "cz-ring")[0, 4], torch.tensor(1.0, dtype=DOUBLE))
    turned = rotations(torch.tensor([[math.pi / 2, 0.4]], dtype=torch.float64))[0]
    assert_close(turned[:, 0], torch.tensor([1, 1], dtype=DOUBLE) * complex(math.cos(0.2), -math.sin(0.2)) / 2**0.5)


@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from(ENTANGLERS), st.integers(0, 99))
def test_law_norms_and_overlaps_stay(qubits: int, layers: int, entangler: Entangler, seed: int) -> None:
    ket = kets(3, qubits)
    turned = run(ket, angles_of(qubits, layers, seed), entangler)
    assert_close(turned.conj() @ turned.T, ket.conj() @ ket.T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("entangler", ["cz-ring", "cx-chain"])
def test_law_the_gradient_is_that_of_the_parameter_shift_rule(entangler: Entangler) -> None:
    """What a backend can measure: (f(angle + pi / 2) - f(angle - pi / 2)) / 2, for every angle."""
    angles, ket = angles_of(3, 2), kets(2, 3)
    weights = torch.randn(8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def f(angles: Tensor) -> Tensor:
        return (probabilities(run(ket, angles, entangler)) @ weights).sum()

    angles.requires_grad_()
    (gradient,) = torch.autograd.grad(f(angles), angles)
    for place in range(angles.numel()):
        shift = torch.zeros(angles.numel(), dtype=torch.float64)
        shift[place] = math.pi / 2
        shift = shift.view_as(angles)
        assert abs((f(angles + shift) - f(angles - shift)).item() / 2 - gradient.flatten()[place].item()) < 1e-10
    assert (gradient.abs() > 1e-6).all(), "every angle matters"
    assert torch.autograd.gradcheck(lambda ket: run(ket, angles.detach(), entangler), kets(1, 3).requires_grad_())


def test_known_a_circuit_pads_what_is_no_power_of_two() -> None:
    torch.manual_seed(0)
    for width, qubits in ((1, 1), (2, 1), (3, 2), (8, 3), (9, 4), (768, 10)):
        assert (made := Circuit(width, 2, "cz-ring", 0.1)).qubits == qubits
        assert made.outcomes == 2**qubits and made.angles.shape == (2, qubits, 2)
    module = Circuit(6, 2, "cx-ring", 1.0)
    ket = kets(2, 3)[:, :6].to(torch.complex64)
    padded = torch.cat([ket, torch.zeros(2, 2)], dim=-1)
    u = module.unitary()
    assert u.dtype == DOUBLE and not u.requires_grad
    assert_close(u @ u.mH, torch.eye(8, dtype=DOUBLE), rtol=0, atol=1e-14)
    assert_close(module(ket), padded @ u.T.to(torch.complex64), rtol=0, atol=1e-6)
    assert module.gates() == gates(module.angles.detach().double(), "cx-ring")


def test_known_a_matrix_that_would_not_fit_is_refused() -> None:
    with pytest.raises(UserError, match=r"a circuit of 13 qubits takes 1\.1 GB, and psitext makes it for at most 12"):
        Circuit(8192, 1, "cz-ring", 0.1).unitary()


def test_known_gradients_vanish_with_qubits_but_not_in_shallow_circuits() -> None:
    """A plateau: in deep circuits the variance falls about fourfold with every two qubits; with one layer it is that
    of sin of a uniform angle, 1 / 2.
    """
    deep = [gradient_variance(qubits, 3 * qubits, samples=100) for qubits in (2, 4, 6)]
    assert deep[0] > 2 * deep[1] > 4 * deep[2] > 0
    assert abs(gradient_variance(6, 1, samples=400) - 0.5) < 0.06
    assert gradient_variance(3, 2, seed=5) == gradient_variance(3, 2, seed=5) != gradient_variance(3, 2, seed=6)
    with pytest.raises(UserError, match="not 0, 1 and 200"):
        gradient_variance(0, 1)


def test_parity_the_variance_with_autograd() -> None:
    """Over the same draws, every gradient by autograd."""
    from psitext.randomness import generator

    drawn = torch.from_numpy(generator(7, "plateau").uniform(0, 2 * math.pi, (20, 3, 2, 2)))
    signs = torch.tensor([1.0, 1, -1, -1], dtype=torch.float64)
    slopes = []
    for angles in drawn:
        angles.requires_grad_()
        value = probabilities(run(torch.eye(1, 4, dtype=DOUBLE), angles, "cx-chain")) @ signs
        slopes.append(torch.autograd.grad(value.sum(), angles)[0][0, 0, 0])
    variance = gradient_variance(2, 3, samples=20, seed=7, entangler="cx-chain")
    assert abs(variance - torch.stack(slopes).var().item()) < 1e-12
