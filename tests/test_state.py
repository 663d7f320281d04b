"""States: what every kind answers, and that a ket is a ket."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.state import Bond, Ket, Posterior, SentenceState, State

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]


def states(dtype: torch.dtype = torch.float32) -> list[State]:
    vector = torch.randn(4, 6, dtype=dtype, generator=torch.Generator().manual_seed(0))
    real = torch.float64 if dtype in (torch.float64, torch.complex128) else torch.float32
    return [
        SentenceState(vector),
        SentenceState(vector, torch.randn(4, 3, 6), torch.ones(4, 3, dtype=torch.bool)),
        Bond(vector, torch.zeros(4, dtype=real)),
        Posterior(vector, torch.zeros(4, 6, dtype=real)),
        SentenceState(vector).to_ket(),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
def test_law_every_kind_answers_the_same_questions(dtype: torch.dtype) -> None:
    for state in states(dtype):
        assert (len(state), state.width) == (4, 6)
        assert torch.equal(state[2].vector, state.vector[2:3])
        assert torch.equal(state[-1].vector, state.vector[3:])
        assert torch.equal(state[1:3].vector, state.vector[1:3])
        assert torch.equal(state[[3, 0]].vector, state.vector[[3, 0]])
        assert torch.equal(state[torch.tensor([True, False, True, False])].vector, state.vector[::2])
        assert type(state[0]) is type(state)
        for bad in (4, -5):
            with pytest.raises(IndexError, match=f"4 sentences, no number {bad}"):
                state[bad]
        numbers = state.numpy()
        assert isinstance(numbers, np.ndarray) and np.array_equal(numbers, state.vector.numpy())
        assert torch.allclose(
            state.to_ket().vector.abs().square().sum(-1), torch.ones(4, dtype=state.vector.real.dtype)
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_law_real_parts_are_real(dtype: torch.dtype) -> None:
    for state in states(dtype):
        real = state.to_real()
        assert not real.is_complex(), type(state).__name__
        assert real.shape == (4, 12 if state.vector.is_complex() else 6)


def test_law_an_index_takes_every_field_along() -> None:
    tokens, real = torch.randn(3, 5, 4), torch.rand(3, 5) < 0.5
    state = SentenceState(torch.randn(3, 4), tokens, real)
    assert torch.equal(state[1].tokens, tokens[1:2]) and torch.equal(state[1].real, real[1:2])
    bond = Bond(torch.randn(3, 4), torch.arange(3.0))
    assert torch.equal(bond[[2, 0]].log_scale, torch.tensor([2.0, 0.0]))


def test_known_a_complex_state_is_read_as_real_and_imaginary_parts() -> None:
    state = SentenceState(torch.tensor([[1 + 2j, 3 - 4j]]))
    assert state.to_real().tolist() == [[1, 3, 2, -4]]
    plain = torch.randn(2, 3)
    assert SentenceState(plain).to_real() is plain


def test_known_a_state_is_two_dimensional() -> None:
    with pytest.raises(ValueError, match=r"\(B, D\), not \(3,\)"):
        SentenceState(torch.zeros(3))


def test_known_bfloat16_becomes_float32_in_numpy() -> None:
    state = SentenceState(torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16, requires_grad=True))
    assert state.numpy().dtype == np.float32
    assert state.numpy().tolist() == [[1.5, -2.0]]


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3), st.floats(1e-3, 1e3), st.floats(0, 6.28))
def test_law_a_ket_forgets_scale_and_its_probabilities_a_phase(values: list[float], scale: float, phase: float) -> None:
    vector = torch.tensor([values], dtype=torch.complex128)
    if float(vector.abs().square().sum()) < 1e-3:
        return
    one = SentenceState(vector).to_ket()
    other = SentenceState(scale * vector).to_ket()
    turned = Ket(one.vector * complex(math.cos(phase), math.sin(phase)))
    torch.testing.assert_close(one.vector, other.vector)
    torch.testing.assert_close(one.probabilities(), turned.probabilities())
    torch.testing.assert_close(one.fidelity(turned), torch.ones(1, dtype=torch.float64))
    torch.testing.assert_close(one.probabilities().sum(-1), torch.ones(1, dtype=torch.float64))


def test_known_fidelities() -> None:
    ket = SentenceState(torch.tensor([[1, 0], [1, 1j], [0, 2]], dtype=torch.complex64)).to_ket()
    torch.testing.assert_close(ket[0].fidelity(ket), torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64))
    torch.testing.assert_close(ket.fidelity(ket), torch.ones(3, dtype=torch.float64))
    with pytest.raises(UserError, match="kets of width 2 and 3 have no overlap"):
        ket.fidelity(SentenceState(torch.ones(1, 3)).to_ket())


@pytest.mark.parametrize("bad", [0.0, math.nan, math.inf])
def test_known_no_state_comes_of_nothing(bad: float) -> None:
    vector = torch.ones(3, 4)
    vector[1] = bad
    with pytest.raises(UserError, match="sentence 1 has a vector of norm"):
        SentenceState(vector).to_ket()


def test_law_gradients_flow_through_a_ket() -> None:
    vector = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)

    def first_probability(x: torch.Tensor) -> torch.Tensor:
        return SentenceState(x).to_ket().probabilities()[:, 0]

    assert torch.autograd.gradcheck(first_probability, vector)


def test_known_a_bond_applies_its_scale_where_that_fits() -> None:
    bond = Bond(torch.tensor([[1.0, -2.0], [0.5, 0.0]]), torch.tensor([math.log(3.0), -1000.0]))
    torch.testing.assert_close(bond.to_real(), torch.tensor([[3.0, -6.0], [0.0, 0.0]]))
    with pytest.raises(UserError, match=r"scale exp\(100.0\) does not fit torch.float32"):
        Bond(torch.ones(1, 2), torch.tensor([100.0])).to_real()
    wide = Bond(torch.ones(1, 2, dtype=torch.float64), torch.tensor([100.0], dtype=torch.float64))
    assert torch.isfinite(wide.to_real()).all()
    assert bond[:0].to_real().shape == (0, 2)
    torch.testing.assert_close(bond.to_ket().vector, SentenceState(bond.vector).to_ket().vector)


def test_law_gradients_flow_through_a_bond_in_real_numbers() -> None:
    vector = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    log_scale = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    Bond(vector, log_scale).to_real()  # without a warning
    assert torch.autograd.gradcheck(lambda v, s: Bond(v, s).to_real(), (vector, log_scale))


@pytest.mark.parametrize("size", [1.0, 50.0, 1e6])
def test_law_a_bond_in_real_numbers_is_finite_or_refused(size: float) -> None:
    limit = math.log(torch.finfo(torch.float32).max)
    for log_scale in (limit - 20, limit - 5, limit - 1.5, limit - 0.5, limit + 1):
        try:
            found = Bond(torch.full((1, 2), size), torch.tensor([log_scale])).to_real()
        except UserError:
            continue
        assert torch.isfinite(found).all(), f"{size} * exp({log_scale:.1f}) became infinite without a word"


def test_law_samples_of_a_posterior_have_its_mean_and_variance() -> None:
    count = 20_000
    mean, log_var = torch.tensor([1.0, -3.0]), torch.tensor([0.0, 2.0])
    posterior = Posterior(mean.expand(count, 2), log_var.expand(count, 2))
    drawn = posterior.sample(seed=1)
    assert torch.equal(drawn, posterior.sample(seed=1))
    assert not torch.equal(drawn, posterior.sample(seed=2))
    torch.testing.assert_close(drawn.mean(0), mean, atol=0.08, rtol=0)
    torch.testing.assert_close(drawn.var(0), log_var.exp(), atol=0, rtol=0.05)
    before = torch.random.get_rng_state()
    posterior.sample()
    assert torch.equal(torch.random.get_rng_state(), before), "the global generator was touched"


def test_law_every_kind_is_asked_as_kets() -> None:
    for state in states():
        amplitudes = state.amplitudes()
        assert amplitudes.dtype == torch.complex128 and amplitudes.shape == (4, 6)
        torch.testing.assert_close(amplitudes.norm(dim=1), torch.ones(4, dtype=torch.float64))
        torch.testing.assert_close(state.probabilities().sum(1), torch.ones(4))
        assert (state.qubits, state.width) == (3, 6)
        assert state.schmidt(1).shape == (4, 2) and state.schmidt([2, 0]).shape == (4, 2)
        torch.testing.assert_close(state.entropy_bits()[:, 1], state.entropy_bits(2))
        assert state.reduced([2]).shape == (4, 2, 2) and state.bloch().shape == (4, 3, 3)
        assert state.mutual_bits().shape == (4, 3, 3)
        torch.testing.assert_close(state.fidelities()[:, 0], state.fidelity(state[0]))
        torch.testing.assert_close(state.angles(state[:2])[:, 1], state.angle(state[1]))
        with pytest.raises(UserError, match="6 is no power of two"):
            state.entropy_bits(pad=False)


def test_known_states_between_two_sentences() -> None:
    state = states()[0]
    path = state[0].geodesic(state[1], [0.0, 0.25, 1.0])
    assert isinstance(path, Ket) and len(path) == 3
    angle = float(state[0].angle(state[1]))
    torch.testing.assert_close(path.angle(state[0]), torch.tensor([0.0, angle / 4, angle], dtype=torch.float64))
    assert len(state.geodesic(state[0], 0.5)) == 4
    assert len(state.geodesic(state, torch.linspace(0, 1, 4))) == 4


def test_known_approximations_keep_the_logical_width() -> None:
    state = states()[0]
    made, near = state.to_product(1), state.at_bond(1)
    assert made.padded and near.width == 6
    torch.testing.assert_close(state.fidelity(near), made.fidelity / made.inside()[1])
    exact = state.at_bond(2)
    torch.testing.assert_close(state.fidelity(exact), torch.ones(4, dtype=torch.float64))
    assert (state.bond_for(1.0) <= 2).all()


def test_known_numbers_of_sentences_that_do_not_fit() -> None:
    state = states()[0]
    for ask in (state.fidelity, state.angle):
        with pytest.raises(UserError, match="4 sentences and 3 are not compared one by one"):
            ask(state[:3])
    assert state.fidelities(state[:3]).shape == (4, 3)


def test_known_numbers_of_shares_that_do_not_fit() -> None:
    state = states()[0]
    for start, end, shares in [(state[0], state, [0.1, 0.5]), (state, state, [0.1] * 3), (state, state[0], [])]:
        with pytest.raises(UserError, match=rf"4 pairs .* take one share for all or 4, .* array \({len(shares)},\)"):
            start.geodesic(end, shares)
    assert len(state[0].geodesic(state, [0.1, 0.5, 0.7, 1.0])) == len(state[0].geodesic(state, [0.5])) == 4
    assert len(state[0].geodesic(state[1], [])) == 0 and len(state[0].geodesic(state[1], [0.5] * 7)) == 7


def test_law_no_sentences_have_no_answers() -> None:
    for state in states():
        none = state[0:0]
        for sweeps in (0, 1):
            made = none.to_product(bond=2, sweeps=sweeps)
            assert made.fidelity.shape == (0,) and made.discarded.shape == (0, 2) and made.inside()[0].shape == (0, 6)
            assert [tensor.shape for tensor in made.tensors] == [(0, 1, 2, 2), (0, 2, 2, 2), (0, 2, 2, 1)]
        assert none.entropy_bits().shape == (0, 2) and none.bond_for().shape == (0,)
        assert none.reduced([0]).shape == (0, 2, 2) and none.bloch().shape == (0, 3, 3)
        assert none.fidelities(state).shape == none.angles(state).shape == (0, 4)
        assert len(none.geodesic(state[0], 0.5)) == len(none.at_bond(2)) == 0


WRONG_TYPES = {
    "a state is compared with another one, .* not a (str|NoneType)": [
        lambda s: s.fidelity("x"),
        lambda s: s.fidelity(None),
        lambda s: s.angle("x"),
        lambda s: s.fidelities("x"),
        lambda s: s.angles("x"),
        lambda s: s.geodesic(None, 0.5),
    ],
    "t is a number from 0 to 1 or a list of such": [
        lambda s: s.geodesic(s, "x"),
        lambda s: s.geodesic(s, None),
        lambda s: s.geodesic(s, torch.tensor(0.5 + 1j)),
        lambda s: s.geodesic(s, [[0.1], [0.1, 0.2]]),
    ],
    "a cut is a whole number, not (1.5|'a'|True|None)": [
        lambda s: s.entropy_bits(1.5),
        lambda s: s.entropy_bits("a"),
        lambda s: s.entropy_bits(True),
        lambda s: s.schmidt(None),
        lambda s: s.reduced(True),
    ],
    "a qubit is a whole number, not (0.5|True|'a')": [
        lambda s: s.entropy_bits([0.5]),
        lambda s: s.reduced([True]),
        lambda s: s.schmidt(["a"]),
    ],
    "a bond is a whole number, not (1.5|None|'x'|True)": [
        lambda s: s.to_product(bond=1.5),
        lambda s: s.to_product(bond=None),
        lambda s: s.to_product(bond="x"),
        lambda s: s.at_bond(True),
    ],
    "a number of sweeps is a whole number, not 1.0": [lambda s: s.at_bond(1, sweeps=1.0)],
    "a fidelity to keep is a number above 0 and at most 1, not ('x'|None|True|nan)": [
        lambda s: s.bond_for("x"),
        lambda s: s.bond_for(None),
        lambda s: s.bond_for(True),
        lambda s: s.bond_for(math.nan),
    ],
    "the number of a sentence is a whole number, not ('a'|None|True|1.5|a value of type (Tensor|tuple))": [
        lambda s: s["a"],
        lambda s: s[None],
        lambda s: s[True],
        lambda s: s[[1.5]],
        lambda s: s[torch.tensor([1.0])],
        lambda s: s[0, 1],
    ],
}


@pytest.mark.parametrize("sentence", WRONG_TYPES)
def test_known_arguments_of_another_type(sentence: str) -> None:
    for state in states():
        for ask in WRONG_TYPES[sentence]:
            with pytest.raises(UserError, match=f"^{sentence}") as caught:
                ask(state)
            assert "\n" not in str(caught.value)


def test_law_numbers_of_numpy_and_torch_are_numbers() -> None:
    state = states()[0]
    for one in (np.int64(1), np.array(1), torch.tensor(1)):
        assert torch.equal(state[one].vector, state[1].vector)
        assert torch.equal(state.entropy_bits(one), state.entropy_bits(1))
        assert torch.equal(state.to_product(one).fidelity, state.to_product(1).fidelity)
    for many in (np.array([2, 0]), torch.tensor([2, 0])):
        assert torch.equal(state[many].vector, state[[2, 0]].vector)
        assert torch.equal(state.reduced(many), state.reduced([2, 0]))
    torch.testing.assert_close(state.bond_for(np.float32(0.5)), state.bond_for(0.5))


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "x", True, None])
def test_known_seeds_that_are_none(seed: object) -> None:
    posterior = Posterior(torch.zeros(2, 3), torch.zeros(2, 3))
    with pytest.raises(UserError, match="a seed is a whole number"):
        posterior.sample(seed=seed)  # type: ignore[arg-type]
    assert posterior.sample(seed=2**63 - 1).shape == (2, 3)
