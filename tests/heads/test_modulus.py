"""The modulus head: against its formula in complex128, on any state, with scores of either sign."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.errors import UserError
from psitext.heads.modulus import ModulusConfig, ModulusHead
from psitext.state import Bond, SentenceState

BATCH = tiny.batch([2])  # it reads no token
QUIET = ModulusConfig(dropout=0)


def head_of(width: int = 6, outputs: int = 3, config: ModulusConfig = QUIET) -> ModulusHead:
    torch.manual_seed(0)
    head = ModulusHead(width, outputs, config)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.normal_()
    return head


def states(width: int = 6) -> SentenceState:
    return SentenceState(torch.randn(4, width, dtype=torch.complex64, generator=torch.Generator().manual_seed(1)))


def dense(head: ModulusHead, vector: torch.Tensor) -> torch.Tensor:
    """|z W^T + b| in complex128."""
    w, b = (
        torch.complex(re.detach().double(), im.detach().double())
        for re, im in ((head.dense.weight_re, head.dense.weight_im), (head.dense.bias_re, head.dense.bias_im))
    )
    return (vector.to(torch.complex128) @ w.T + b).abs()


def test_parity_with_the_formula() -> None:
    head, state = head_of(), states()
    assert_close(head(state, BATCH)["logits"].detach().double(), dense(head, state.vector), rtol=0, atol=1e-5)
    wide = SentenceState(state.vector.to(torch.complex128))
    logits = head.double()(wide, BATCH)["logits"]
    assert logits.dtype == torch.float64
    assert_close(logits.detach(), dense(head, wide.vector), rtol=0, atol=1e-13)


def test_known_a_score_may_be_of_either_sign() -> None:
    head, state = head_of(outputs=1), states()
    logits = head(state, BATCH)["logits"]
    one, other = dense(head, state.vector).unbind(-1)
    assert_close(logits.detach().double(), (other - one)[:, None], rtol=0, atol=1e-5)
    assert logits.shape == (4, 1)
    assert (logits > 0).any() and (logits < 0).any()


def test_law_any_state_at_its_own_size() -> None:
    head, real = head_of(), torch.randn(2, 6)
    expected = dense(head, real.to(torch.complex64)).float()
    assert_close(head(SentenceState(real), BATCH)["logits"].detach(), expected, rtol=0, atol=1e-5)
    assert_close(
        head(Bond(real, torch.tensor([0.5, -1])), BATCH)["logits"].detach(),
        dense(head, (real * torch.tensor([0.5, -1]).exp()[:, None]).to(torch.complex64)).float(),
        rtol=0,
        atol=1e-5,
    )
    assert not torch.allclose(head(SentenceState(2 * real), BATCH)["logits"].detach(), expected), "unlike a measurement"
    with pytest.raises(UserError, match="a modulus head of width 6 cannot read a state of width 5"):
        head(states(5), BATCH)


def test_law_bfloat16_training_reads_in_float32() -> None:
    head, real = head_of(), torch.randn(2, 6).bfloat16()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = head(SentenceState(real), BATCH)["logits"]
    assert logits.dtype == torch.float32
    assert torch.equal(logits, head(SentenceState(real.float()), BATCH)["logits"])


def test_law_gradients_are_finite_everywhere() -> None:
    """At an output of 0 too, where a modulus has no derivative."""
    head = head_of()
    with torch.no_grad():
        head.dense.bias_re.zero_()
        head.dense.bias_im.zero_()
    vector = states().vector.clone()
    vector[1] = 0
    vector.requires_grad_()
    head(SentenceState(vector), BATCH)["logits"].sum().backward()
    assert vector.grad.isfinite().all() and vector.grad[0].abs().sum() > 0
    assert all(p.grad.isfinite().all() and p.grad.abs().sum() > 0 for p in head.parameters())


def test_known_dropout_acts_in_training_only_and_parameters_are_real_pairs() -> None:
    head, state = head_of(config=ModulusConfig(dropout=0.5)), states()
    first, second = (head.train()(state, BATCH)["logits"] for _ in range(2))
    assert not torch.equal(first, second)
    first, second = (head.eval()(state, BATCH)["logits"] for _ in range(2))
    assert torch.equal(first, second)
    names = {"dense.weight_re", "dense.weight_im", "dense.bias_re", "dense.bias_im"}
    assert {name for name, _ in head.named_parameters()} == names
    fresh = ModulusHead(400, 5, QUIET)
    assert abs(fresh.dense.weight_im.std().item() / 0.02 - 1) < 0.1
    assert torch.equal(fresh.dense.bias_re.detach(), torch.zeros(5))
    assert head.reads(BATCH).numel() == 0
