"""RAC against its formula written out, one text and one word at a time."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import tiny
from psitext.assemble import build_encoder
from psitext.encoders.rac import Rac, RacConfig
from psitext.text.batches import Batch

LENGTHS = [7, 3, 12, 2, 16]


def formula(encoder: Rac, batch: Batch) -> Tensor:
    """[h; 1] after eq. 19, of every text."""
    states = []
    for x in tiny.words_of(encoder, batch):
        for cell in encoder.cells:
            h, hs = torch.zeros(encoder.config.bond, dtype=torch.float64), []
            for word in x:
                h = (cell.hidden @ h + cell.hidden_bias) * (cell.inputs @ word + cell.input_bias)
                hs.append(h)
            x = hs
        states.append(torch.cat([h, torch.ones(1, dtype=torch.float64)]))
    return torch.stack(states)


@pytest.mark.parametrize(
    "changes", [{}, {"pad": "word"}, {"layers": 2}, {"init": "orthogonal"}, {"init": "glorot"}, {"init": "sum"}]
)
def test_parity_with_the_formula(changes: dict[str, object]) -> None:
    encoder = build_encoder(tiny.RAC.model_copy(update=changes)).double()
    assert isinstance(encoder, Rac)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    batch = tiny.batch(LENGTHS)
    state = encoder(batch)
    assert_close(state.to_real(), formula(encoder, batch), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("bond", [1, 4, 5])
def test_known_sum_begins_as_a_bag_of_words(bond: int) -> None:
    encoder = build_encoder(tiny.RAC.model_copy(update={"init": "sum", "bond": bond}))
    assert isinstance(encoder, Rac)
    batch = tiny.batch(LENGTHS)
    state, taking = encoder(batch).to_real(), (bond + 1) // 2
    [cell] = encoder.cells
    for row, words in zip(state, tiny.words_of(encoder, batch), strict=True):
        taken = [cell.inputs[:taking] @ word for word in words] or [torch.zeros(taking)]
        before = sum(taken[:-1], torch.zeros(taking))
        assert_close(row[:-1], torch.cat([taken[-1], before[: bond - taking]]))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("scale", [3.0, 0.01])
def test_law_two_thousand_words_stay_finite(scale: float, layers: int) -> None:
    torch.manual_seed(0)
    encoder = Rac(RacConfig(vocab_size=50, features=3, bond=8, max_len=2002, layers=layers))
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.normal_(std=scale)
    state = encoder(tiny.batch([2002, 1500, 2]))
    assert torch.isfinite(state.vector).all() and torch.isfinite(state.log_scale).all()
    if scale > 1:
        assert float(state.log_scale[0]) > 100
    assert_close(state.to_ket().probabilities().sum(1), torch.ones(3))
    state.to_ket().vector.real.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in encoder.parameters())


def test_known_without_biases_nothing_is_learnt() -> None:
    """Footnote 10."""
    encoder = build_encoder(tiny.RAC.model_copy(update={"biases": False}))
    state = encoder(tiny.batch(LENGTHS))
    assert torch.equal(state.vector, torch.tensor([[0.0] * 7 + [1.0]]).expand(5, -1))
    state.vector.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in encoder.parameters())


def test_law_no_start_needs_the_compiler_of_torch() -> None:
    """Sizes are counted on a copy without memory, and what torch takes a second to import for one stays out."""
    code = (
        "import sys; from psitext.assemble import build_encoder; from psitext.encoders.rac import INITS, RacConfig; "
        "[build_encoder(RacConfig(vocab_size=9, bond=5, init=one), 0) for one in INITS]; "
        "sys.exit('sympy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0
