"""The measurement head: against eq. 8 in complex128, the paper's preset, any state, and what it can learn."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor
from torch.testing import assert_close

import tiny
from psitext.config import build
from psitext.errors import UserError
from psitext.heads.measurement import PAPER, MeasurementConfig, MeasurementHead
from psitext.nn.unitary.circuit import Circuit
from psitext.state import Ket, Posterior, SentenceState, State

BATCH = tiny.batch([2])  # a measurement reads no token
UNITARIES = ["exp", "cayley", "circuit"]


def head_of(width: int = 6, outputs: int = 3, seed: int = 0, **settings: object) -> MeasurementHead:
    """A head whose parameters are all large enough to matter."""
    torch.manual_seed(seed)
    head = MeasurementHead(width, outputs, build(MeasurementConfig, {"init_std": 0.4, **settings}, "here"))
    with torch.no_grad():
        for parameter in head.output.parameters():
            parameter.normal_()
    return head


def states(width: int = 6, count: int = 4) -> SentenceState:
    return SentenceState(torch.randn(count, width, dtype=torch.complex64, generator=torch.Generator().manual_seed(1)))


def literal(head: MeasurementHead, state: State) -> np.ndarray:
    """logits = |exp(i (W + W^H) / 2) psi|^2 w^T + b, sentence by sentence in complex128."""
    weight, bias = (p.detach().double().numpy() for p in (head.output.weight, head.output.bias))
    w = head.turn.weight_re.detach().double().numpy() + 1j * head.turn.weight_im.detach().double().numpy()
    u = scipy.linalg.expm(1j * (w + w.conj().T) / 2)
    rows = []
    for vector in state.vector.numpy().astype(np.complex128):
        amplitudes = u @ (vector / np.linalg.norm(vector))
        rows.append(weight @ (np.abs(amplitudes) ** 2 * head.scale) + bias)
    return np.stack(rows)


@pytest.mark.parametrize("scale", ["width", "none"])
def test_parity_with_the_equation_in_complex128(scale: str) -> None:
    head, state = head_of(scale=scale), states()
    assert_close(head(state, BATCH)["logits"].detach().double().numpy(), literal(head, state), rtol=0, atol=1e-5)
    double = copy.deepcopy(head).double()
    wide = SentenceState(state.vector.to(torch.complex128))
    logits = double(wide, BATCH)["logits"]
    assert logits.dtype == torch.float64
    assert_close(logits.detach().numpy(), literal(double, wide), rtol=0, atol=1e-13)


@pytest.mark.parametrize("unitary", UNITARIES)
@pytest.mark.parametrize("groups", [None, 2, 3])
def test_law_what_a_circuit_is_given_gives_the_same_logits(unitary: str, groups: int | None) -> None:
    """``unitary``, ``outcomes`` and ``readout`` are the whole head."""
    head, state = head_of(unitary=unitary, groups=groups), states()
    u, (weight, bias) = head.unitary(), head.readout()
    assert u.dtype == torch.complex128 and weight.dtype == torch.float64
    size = 8 if unitary == "circuit" else 6
    assert u.shape == (size, size) and weight.shape == (3, groups or size)
    ket = torch.zeros(4, size, dtype=torch.complex128)
    ket[:, :6] = state.vector / torch.linalg.vector_norm(state.vector, dim=-1, keepdim=True)
    probs = head.outcomes.grouped((ket @ u.T).abs().square())
    assert_close(head(state, BATCH)["logits"].detach().double(), probs @ weight.T + bias, rtol=0, atol=2e-5)
    assert_close(head.probabilities(state).sum(-1), torch.ones(4), rtol=0, atol=1e-5)


@pytest.mark.parametrize("unitary", UNITARIES)
def test_law_training_and_evaluation_agree(unitary: str) -> None:
    head, state = head_of(unitary=unitary), states()
    trained = head.train()(state, BATCH)["logits"]
    with torch.no_grad():
        assert_close(head.eval()(state, BATCH)["logits"], trained.detach(), rtol=0, atol=2e-5)


@pytest.mark.parametrize("unitary", UNITARIES)
def test_law_gradients_reach_every_parameter_and_the_state(unitary: str) -> None:
    head, state = head_of(unitary=unitary, layers=2).double(), states()
    vector = state.vector.to(torch.complex128).requires_grad_()
    names, parameters = zip(*head.named_parameters(), strict=True)
    assert all(not parameter.is_complex() for parameter in parameters)
    assert {name for name in names if name.startswith("turn")} == (
        {"turn.angles"} if unitary == "circuit" else {"turn.weight_re", "turn.weight_im"}
    )

    def logits(vector: Tensor, *parameters: Tensor) -> Tensor:
        values = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(head, values, (SentenceState(vector), BATCH))["logits"]

    assert torch.autograd.gradcheck(logits, (vector, *parameters))


def test_law_a_phase_and_a_size_cannot_be_seen() -> None:
    """A ket is a direction: so the head suits any family's vectors."""
    head, state = head_of(), states()
    turned = SentenceState(state.vector * torch.tensor([1j, 7.0, -0.01, 3 - 4j])[:, None])
    assert_close(head(turned, BATCH)["logits"], head(state, BATCH)["logits"], rtol=0, atol=1e-5)


def test_law_any_state_can_be_read() -> None:
    real = torch.randn(2, 6, generator=torch.Generator().manual_seed(2))
    head = head_of()
    plain = head(SentenceState(real), BATCH)["logits"]
    assert plain.shape == (2, 3)
    for state in (Posterior(real, real), SentenceState(real.to(torch.complex64)), SentenceState(real).to_ket()):
        assert_close(head(state, BATCH)["logits"], plain, rtol=0, atol=1e-5)
    assert isinstance(SentenceState(real).to_ket(), Ket)


def test_law_bfloat16_training_measures_in_float32() -> None:
    head, real = head_of(groups=3), torch.randn(2, 6).bfloat16()
    expected = head(SentenceState(real.float()), BATCH)["logits"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = head(SentenceState(real), BATCH)["logits"]
    assert logits.dtype == torch.float32
    assert torch.equal(logits, expected)


def test_known_the_papers_preset() -> None:
    """Appendix A: no bias, raw probabilities, deviations of 0.001 for both parts of W and for the read-out."""
    torch.manual_seed(0)
    head = MeasurementHead(100, 2, PAPER)
    assert head.output.bias is None and head.readout()[1] is None and head.scale == 1.0
    for parameter in head.parameters():
        assert abs(parameter.std().item() / 0.001 - 1) < 0.2
    assert sum(parameter.numel() for parameter in head.parameters()) == 2 * 100**2 + 2 * 100
    stable = MeasurementHead(100, 1, MeasurementConfig())
    assert stable.scale == 100.0
    assert stable(SentenceState(torch.ones(1, 100)), BATCH)["logits"].shape == (1, 1), "a regression has one"
    assert head.reads(BATCH).numel() == 0


@pytest.mark.parametrize("settings", [{}, {"groups": 2}, {"unitary": "circuit", "groups": 4}])
def test_known_a_scale_counts_basis_states_and_uniform_outcomes_start_at_0(settings: dict[str, object]) -> None:
    torch.manual_seed(0)
    config = build(MeasurementConfig, {"init_std": 0.0, **settings}, "here")
    head = MeasurementHead(8, 3, config)
    assert head.scale == 8.0
    assert_close(head(SentenceState(torch.ones(1, 8)), BATCH)["logits"], torch.zeros(1, 3), rtol=0, atol=1e-6)


def test_law_logits_spread_alike_at_first_however_many_outcomes_are_told_together() -> None:
    spreads = []
    for groups in (None, 16):
        torch.manual_seed(0)
        head = MeasurementHead(128, 300, MeasurementConfig(groups=groups))
        spreads.append(head(states(128, 100), BATCH)["logits"].std(0).mean().item())
    assert 0.8 < spreads[0] / spreads[1] < 1.25, spreads


def test_known_dropout_acts_in_training_only() -> None:
    head, state = head_of(dropout=0.5), states()
    first, second = (head.train()(state, BATCH)["logits"] for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (head.eval()(state, BATCH)["logits"] for _ in range(2))
    assert torch.equal(first, second)


def test_known_gates_of_a_circuit_and_of_nothing_else() -> None:
    head = head_of(unitary="circuit", layers=2, entangler="cx-chain")
    assert isinstance(head.turn, Circuit)
    assert [name for name, _, _ in head.gates()] == ["rz", "ry"] * 3 + ["cx"] * 2 + ["rz", "ry"] * 3
    with pytest.raises(UserError, match="a measurement by cayley is one matrix and has no gates"):
        head_of(unitary="cayley").gates()


def test_known_bad_input_is_one_sentence() -> None:
    head = head_of()
    vector = states().vector.clone()
    vector[2] = 0
    with pytest.raises(UserError, match="sentence 2 has a vector of norm 0, which no quantum state can hold"):
        head(SentenceState(vector), BATCH)
    vector[2, 1] = torch.nan
    with pytest.raises(UserError, match="sentence 2 has a vector of norm nan, which no quantum state can hold"):
        head(SentenceState(vector), BATCH)
    with pytest.raises(UserError, match="a measurement of kets of width 6 cannot read a state of width 5"):
        head(states(5), BATCH)
    with pytest.raises(UserError, match="a ket of 6 basis states has no 7 groups of outcomes"):
        head_of(groups=7)
    with pytest.raises(UserError, match="groups"):
        head_of(groups=1)
    with pytest.raises(UserError, match="entangler"):
        head_of(entangler="cy-ring")


@pytest.mark.parametrize(("unitary", "groups"), [("exp", None), ("exp", 8), ("cayley", None), ("circuit", None)])
def test_known_a_head_learns_to_tell_kets_apart(unitary: str, groups: int | None) -> None:
    """Eight directions in 16 complex dimensions, each with noise and a phase of its own; only the head is trained."""
    torch.manual_seed(0)
    centres = torch.randn(8, 16, dtype=torch.complex64)
    labels = torch.arange(256) % 8
    noisy = centres[labels] + 0.4 * torch.randn(256, 16, dtype=torch.complex64)
    phases = torch.polar(torch.ones(256, 1), 6 * torch.rand(256, 1))  # which a measurement cannot see
    state = SentenceState(noisy * phases)
    settings = {"init_std": 0.1, "unitary": unitary, "groups": groups, "layers": 6}
    head = MeasurementHead(16, 8, MeasurementConfig.model_validate(settings))
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(60):
        loss = torch.nn.functional.cross_entropy(head(state, BATCH)["logits"], labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = (head.eval()(state, BATCH)["logits"].argmax(-1) == labels).float().mean().item()
    assert right > 0.95, (right, loss.item())
