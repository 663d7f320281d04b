"""CAdamW against Algorithm 1 done by hand, and the laws that tell it from AdamW on the halves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import AdamW
from torch.testing import assert_close

from fits import same, weights
from psitext.heads.affine import AffineConfig, SequenceHead
from psitext.nn.complex.linear import ComplexLinear
from psitext.train import checkpoint
from psitext.train.checkpoint import Counters
from psitext.train.network import Network
from psitext.train.optim import CAdamW, OptimConfig, build_optimizer, cadamw, set_rate

Pair = tuple[nn.Parameter, nn.Parameter]
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


def noise(shape: tuple[int, ...], seed: int) -> Tensor:
    return torch.randn(shape, dtype=torch.complex128, generator=torch.Generator().manual_seed(seed))


def split(z: Tensor) -> Pair:
    return nn.Parameter(z.real.clone()), nn.Parameter(z.imag.clone())


def joined(pair: Pair) -> Tensor:
    return torch.complex(*pair).detach()


def slope(pair: Pair, g: Tensor) -> None:
    pair[0].grad, pair[1].grad = g.real.clone(), g.imag.clone()


def run(z: Tensor, slopes: list[Tensor], **how: Any) -> Tensor:
    """Where CAdamW takes one complex parameter."""
    pair = split(z)
    optimizer = CAdamW([{"params": list(pair), "pairs": 1}], **how)
    for g in slopes:
        slope(pair, g)
        optimizer.step()
    return joined(pair)


def algorithm_1(
    theta: NDArray[Any], slopes: list[NDArray[Any]], scales: list[float], alpha: float, decay: float, printed: bool
) -> NDArray[Any]:
    """Lines 4 to 13 as they are typeset, with lambda in line 6 (there is a nabla missing) and in line 13; or as AdamW
    has it, without line 6 and with lambda times the learning rate in line 13.
    """
    beta1, beta2, eps = 0.8, 0.9, 1e-3
    m = v = np.zeros_like(theta)
    for t, (gradient, eta) in enumerate(zip(slopes, scales, strict=True), start=1):
        g = gradient + decay * theta if printed else gradient
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g * np.conj(g)
        m_hat, v_hat = m / (1 - beta1**t), v / (1 - beta2**t)
        theta = theta - eta * (alpha * m_hat / (np.sqrt(v_hat) + eps) + (1 if printed else alpha) * decay * theta)
    return theta


@pytest.mark.parametrize("paper", [False, True])
def test_parity_algorithm_1_by_hand(paper: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cadamw, "PIECE", 5)  # so that a tensor is cut, and others share a piece
    values = [noise(shape, 1 + n) for n, shape in enumerate([(3, 4), (3,), (2,), ()])]
    real = nn.Parameter(noise((7,), 9).real.clone())
    pairs = [split(z) for z in values]
    decay, alpha, scales = 0.2, 0.1, [0.25, 1.0, 0.5, 0.1]
    group = {"params": [*(half for pair in pairs for half in pair), real], "pairs": 4, "weight_decay": decay}
    optimizer = CAdamW([group], lr=alpha, betas=(0.8, 0.9), eps=1e-3, paper=paper)
    slopes = [[noise(z.shape, 10 * step + n) for n, z in enumerate([*values, real])] for step in range(4)]
    starts = [z.detach().numpy() for z in [*values, real]]
    expected = [
        algorithm_1(z, [g[n].numpy() if n < 4 else g[n].real.numpy() for g in slopes], scales, alpha, decay, paper)
        for n, z in enumerate(starts)
    ]
    for step, scale in enumerate(scales):
        for pair, g in zip(pairs, slopes[step], strict=False):
            slope(pair, g)
        real.grad = slopes[step][4].real.clone()
        set_rate(optimizer, scale)
        optimizer.step()
    for found, z in zip([*map(joined, pairs), real.detach()], expected, strict=True):
        assert_close(found.numpy(), np.asarray(z), rtol=0, atol=1e-14)


@settings(max_examples=40)
@given(SHAPES, st.floats(0, 2 * math.pi), st.booleans(), st.integers(0, 99))
def test_law_a_phase_turns_the_steps(shape: tuple[int, ...], angle: float, paper: bool, seed: int) -> None:
    turn = complex(math.cos(angle), math.sin(angle))
    z, slopes = noise(shape, seed), [noise(shape, seed + step) for step in range(1, 9)]
    plain = run(z, slopes, lr=0.1, weight_decay=0.3, paper=paper)
    turned = run(turn * z, [turn * g for g in slopes], lr=0.1, weight_decay=0.3, paper=paper)
    assert_close(turned, turn * plain, rtol=0, atol=1e-12)


def test_law_adamw_on_the_halves_knows_phases() -> None:
    """The control: what the law above would say of RAdamW."""
    turn = complex(math.cos(0.5), math.sin(0.5))
    ends = []
    for by in (1, turn):
        pair = split(by * noise((50,), 0))
        optimizer = AdamW(pair, lr=0.1)
        for step in range(1, 9):
            slope(pair, by * noise((50,), step))
            optimizer.step()
        ends.append(joined(pair) / by)
    assert (ends[0] - ends[1]).abs().max() > 0.05


def test_known_the_first_step_goes_straight_down() -> None:
    """By the learning rate, against the gradient; AdamW on the halves goes sqrt(2) as far, to a diagonal."""
    z, g = noise((40,), 0), noise((40,), 1)
    taken = run(z, [g], lr=0.01, eps=1e-16, weight_decay=0) - z
    assert_close(taken, -0.01 * g / g.abs(), rtol=0, atol=1e-14)
    pair = split(z)
    slope(pair, g)
    AdamW(pair, lr=0.01, eps=1e-16, weight_decay=0).step()
    theirs = joined(pair) - z
    assert_close(theirs.abs(), torch.full((40,), 0.01 * math.sqrt(2), dtype=torch.float64), rtol=0, atol=1e-14)
    assert_close(theirs.real.abs(), theirs.imag.abs(), rtol=0, atol=1e-14)


@settings(max_examples=40)
@given(SHAPES, st.integers(0, 99))
def test_parity_real_parameters_get_adamw(shape: tuple[int, ...], seed: int) -> None:
    """Parameters without another half, and pairs whose imaginary gradients are zero."""
    start = noise(shape, seed)
    alone, theirs, pair = nn.Parameter(start.real.clone()), nn.Parameter(start.real.clone()), split(start)
    how = {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.1}
    ours = CAdamW([{"params": [*pair, alone], "pairs": 1}], **how)
    opponent = AdamW([theirs], fused=False, foreach=False, **how)
    for step in range(1, 6):
        g = noise(shape, seed + step).real
        alone.grad, theirs.grad, pair[0].grad = g.clone(), g.clone(), g.clone()
        ours.step()
        opponent.step()
    assert_close(alone.detach(), theirs.detach(), rtol=0, atol=1e-12)
    assert_close(pair[0].detach(), theirs.detach(), rtol=0, atol=1e-12)
    assert_close(pair[1].detach(), start.imag * (1 - 0.1 * 0.1) ** 5, rtol=0, atol=1e-12)


@pytest.mark.parametrize("silent", [0, 1])
def test_law_a_half_without_gradient_counts_as_zero(silent: int) -> None:
    ends = []
    for missing in (False, True):
        pair = split(noise((5,), 0))
        optimizer = CAdamW([{"params": list(pair), "pairs": 1}], lr=0.1)
        for step in range(1, 5):
            slope(pair, noise((5,), step))
            if step > 1:
                pair[silent].grad = None if missing else torch.zeros(5).double()
            optimizer.step()
        ends.append(joined(pair))
    assert torch.equal(*ends)


def test_law_parameters_without_gradient_stay() -> None:
    pairs, real = [split(noise((5,), seed)) for seed in range(2)], nn.Parameter(torch.ones(3))
    optimizer = CAdamW([{"params": [*pairs[0], *pairs[1], real], "pairs": 2}], lr=0.1)
    slope(pairs[1], noise((5,), 7))
    optimizer.step()
    assert torch.equal(joined(pairs[0]), noise((5,), 0)) and torch.equal(real, torch.ones(3))
    assert not torch.equal(joined(pairs[1]), noise((5,), 1))
    assert set(optimizer.state) == set(pairs[1])


def test_known_the_second_moment_takes_half_the_memory() -> None:
    pair, real = split(noise((8, 8), 0)), nn.Parameter(torch.zeros(10).double())
    kept = {}
    for optimizer in (CAdamW([{"params": [*pair, real], "pairs": 1}]), AdamW([*pair, real])):
        slope(pair, noise((8, 8), 1))
        real.grad = torch.ones(10).double()
        optimizer.step()
        kept[type(optimizer)] = sum(v.numel() for s in optimizer.state.values() for k, v in s.items() if k != "step")
    assert kept == {AdamW: 4 * 64 + 2 * 10, CAdamW: 3 * 64 + 2 * 10}


def test_law_slopes_lie_as_they_like() -> None:
    """torch's kernel reads memory in its order; a gradient that is laid out otherwise must not be mixed up."""
    ends = []
    for lay in (torch.Tensor.contiguous, lambda g: g.t().contiguous().t()):
        pair, real = split(noise((3, 4), 0)), nn.Parameter(torch.ones(3, 4).double())
        optimizer = CAdamW([{"params": [*pair, real], "pairs": 1}], lr=0.1)
        g = noise((3, 4), 1)
        pair[0].grad, pair[1].grad, real.grad = lay(g.real), lay(g.imag), lay(g.real)
        optimizer.step()
        ends.append((joined(pair), real.detach()))
    assert torch.equal(ends[0][0], ends[1][0]) and torch.equal(ends[0][1], ends[1][1])


def test_known_dtypes_beside_each_other() -> None:
    pairs = [split(noise((3,), 0)), split(noise((3,), 0).to(torch.complex64))]
    optimizer = CAdamW([{"params": [*pairs[0], *pairs[1]], "pairs": 2}], lr=0.1)
    for step in range(1, 4):
        slope(pairs[0], noise((3,), step))
        slope(pairs[1], noise((3,), step).to(torch.complex64))
        optimizer.step()
    assert pairs[1][0].dtype == torch.float32
    assert_close(joined(pairs[1]).to(torch.complex128), joined(pairs[0]), rtol=0, atol=1e-6)


def test_law_pieces_are_the_rows_cut_to_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cadamw, "PIECE", 7)
    sizes = [3, 0, 2, 16, 2, 4, 1]
    rows = [
        (torch.tensor(n), (torch.arange(size, dtype=dtype), 100 * n + torch.arange(size, dtype=dtype)))
        for n, (size, dtype) in enumerate(zip(sizes, [torch.float32] * 5 + [torch.float64] * 2, strict=True))
    ]
    found = list(cadamw._pieces(rows))
    assert [[len(part) for part in columns[0]] for _, columns in found] == [[3, 0, 2], [7], [7], [2, 2], [4, 1]]
    for number, (step, tensors) in enumerate(rows):
        parts = [parts for steps, columns in found for s, *parts in zip(steps, *columns, strict=True) if s is step]
        for tensor, cut in zip(tensors, zip(*parts, strict=True), strict=True):
            assert torch.equal(torch.cat(cut), tensor), number


def test_known_a_closure_is_called_once_and_may_compute_gradients() -> None:
    pair = split(torch.tensor([3 + 4j], dtype=torch.complex128))
    optimizer = CAdamW([{"params": list(pair), "pairs": 1}], lr=1.0, weight_decay=0)

    def closure() -> Tensor:
        loss = 0.5 * (pair[0] ** 2 + pair[1] ** 2).sum()
        loss.backward()
        return loss.detach()

    assert float(optimizer.step(closure)) == 12.5
    assert_close(joined(pair), torch.tensor([2.4 + 3.2j], dtype=torch.complex128), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"params": [torch.zeros(2, dtype=torch.complex64)]}, "takes a complex parameter as two real ones"),
        ({"params": [torch.zeros(2)], "pairs": 1}, "1 pairs are 2 parameters, but there are 1"),
        ({"params": [torch.zeros(2), torch.zeros(3)], "pairs": 1}, r"float32 \(2,\), torch.float32 \(3,\)"),
        ({"params": [torch.zeros(2), torch.zeros(2).double()], "pairs": 1}, "halves of a complex parameter differ"),
    ],
)
def test_known_groups_that_make_no_sense(group: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CAdamW([group])


def test_known_beta2_divides() -> None:
    with pytest.raises(ValueError, match="betas must lie between 0 and 1"):
        CAdamW([torch.zeros(2)], betas=(0.9, 0.0))


def made(seed: int = 0) -> tuple[Network, CAdamW]:
    """A complex layer and a real head; takes steps by ``train``."""
    torch.manual_seed(seed)
    network = Network(ComplexLinear(5, 3), SequenceHead(6, 2, AffineConfig()))
    optimizer = build_optimizer(network.encoder, network.head, OptimConfig(kind="cadamw-paper", lr=0.1))
    assert isinstance(optimizer, CAdamW)
    return network, optimizer


def train(network: Network, optimizer: CAdamW, steps: range) -> None:
    for step in steps:
        rng = torch.Generator().manual_seed(step)
        for parameter in network.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=rng)
        set_rate(optimizer, 1 / (1 + step))
        optimizer.step()


def test_law_a_run_that_goes_on_is_the_run_that_never_stopped(tmp_path: Path) -> None:
    whole, cut, other = made(), made(), made(seed=1)
    train(*whole, range(7))
    train(*cut, range(3))
    path = checkpoint.save(tmp_path, *cut, Counters(step=3))
    train(*other, range(2))
    assert checkpoint.restore(path, *other) == Counters(step=3)
    train(*other, range(3, 7))
    assert same(weights(other[0]), weights(whole[0]))
    names = set(checkpoint.read_tensors(path / checkpoint.OPTIMIZER))
    assert {"exp_avg/encoder.weight_im", "exp_avg_sq/encoder.weight_re", "step/encoder.bias_re"} <= names
    assert "exp_avg_sq/encoder.weight_im" not in names


def test_law_a_state_dict_goes_on_as_well() -> None:
    whole, cut, other = made(), made(), made(seed=1)
    train(*whole, range(7))
    train(*cut, range(3))
    other[0].load_state_dict(cut[0].state_dict())
    other[1].load_state_dict(cut[1].state_dict())
    train(*other, range(3, 7))
    assert same(weights(other[0]), weights(whole[0]))


@pytest.fixture
def mesh() -> Iterator[Any]:
    from torch import distributed
    from torch.distributed.device_mesh import init_device_mesh

    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,))
    distributed.destroy_process_group()


def test_law_sharded_parameters_are_updated_alike(mesh: Any, tmp_path: Path) -> None:
    from torch.distributed.fsdp import fully_shard

    def sharded(seed: int) -> tuple[Network, CAdamW]:
        network, _ = made(seed)
        fully_shard(network, mesh=mesh)
        optimizer = build_optimizer(network.encoder, network.head, OptimConfig(kind="cadamw-paper", lr=0.1))
        assert isinstance(optimizer, CAdamW)
        return network, optimizer

    def train_sharded(network: Network, optimizer: CAdamW, steps: range) -> None:
        from torch.distributed.tensor import distribute_tensor

        for step in steps:
            rng = torch.Generator().manual_seed(step)
            for parameter in network.parameters():
                gradient = torch.randn(parameter.shape, generator=rng)
                parameter.grad = distribute_tensor(gradient, parameter.device_mesh, parameter.placements)
            set_rate(optimizer, 1 / (1 + step))
            optimizer.step()

    whole = made()
    train(*whole, range(5))
    cut, other = sharded(0), sharded(1)
    assert all(hasattr(p, "to_local") and not hasattr(cadamw._flat(p), "to_local") for p in cut[0].parameters())
    train_sharded(*cut, range(3))
    checkpoint.restore(checkpoint.save(tmp_path, *cut, Counters(step=3)), *other)
    train_sharded(*other, range(3, 5))
    assert same(checkpoint.tensors_of(other[0]), checkpoint.tensors_of(whole[0]))
