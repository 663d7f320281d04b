"""Fusion: distances against literal loops, what pull and push do, and the soft loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

import spaces
from psitext.heads.decoding import asked
from psitext.heads.fusion import FusionHead
from psitext.score.dialog import FusionConfig, fusion
from psitext.score.dialog.fusion import paired, soft, spread_of_nearest, spread_of_pairs, to_nearest
from psitext.state import Posterior
from psitext.text.batches import Batch

B, P = 6, 4


def latents(seed: int, count: int = B) -> Tensor:
    return torch.randn(count, P, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def apart(a: Tensor, b: Tensor) -> float:
    """Root mean squared difference: the Euclidean distance over sqrt(P)."""
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a.tolist(), b.tolist(), strict=True)) / len(a))


def batch(with_style: bool = False) -> Batch:
    own = spaces.Made((3, 1, 4, 2, 5, 2)).build(np.arange(B))
    targets = dict(own.targets)
    if with_style:
        other = spaces.Made((2, 6, 1, 3, 2, 4), kinds=(7, 8, 9, 10, 11, 12)).build(np.arange(B))
        targets |= {"style": other.targets["written"], "style_length": other.targets["written_length"]}
    object.__setattr__(own, "targets", targets)
    return own


def test_parity_distances_with_loops() -> None:
    a, b, c = latents(0), latents(1), latents(2, 9)
    pairs = [(i, j) for i in range(B) for j in range(B) if i != j]
    assert float(paired(a, b)) == pytest.approx(np.mean([apart(x, y) for x, y in zip(a, b, strict=True)]))
    assert float(spread_of_pairs(a)) == pytest.approx(np.mean([apart(a[i], a[j]) for i, j in pairs]))
    capped = np.mean([min(apart(a[i], a[j]), 1.1) for i, j in pairs])
    assert 0.8 < capped < 1.1
    assert float(spread_of_pairs(a, 1.1)) == pytest.approx(capped)
    nearest = [min(apart(a[i], a[j]) for j in range(B) if j != i) for i in range(B)]
    assert float(spread_of_nearest(a)) == pytest.approx(np.mean(nearest))
    assert float(spread_of_nearest(a, 0.7)) == pytest.approx(np.mean(np.minimum(nearest, 0.7)))
    table = [[apart(x, y) for y in c] for x in a]
    both = (np.min(table, axis=1).mean() + np.min(table, axis=0).mean()) / 2
    assert float(to_nearest(a, c)) == pytest.approx(both)


def test_law_a_latent_is_never_compared_with_itself() -> None:
    """In the original code it is, so the spread is 0 wherever the latents are, and nothing is pushed."""
    far = 10 * latents(0)  # pairs are 14 apart or so
    for spread in (spread_of_pairs, spread_of_nearest):
        assert float(spread(far.detach(), None)) > 5
        far.requires_grad_(True)
        (gradient,) = torch.autograd.grad(spread(far, None), far)
        assert float(gradient.abs().sum()) > 0.5


@pytest.mark.parametrize("spread", [spread_of_pairs, spread_of_nearest])
def test_law_equal_and_single_latents_have_finite_gradients(spread: object) -> None:
    assert callable(spread)
    for given in (torch.ones(4, P), torch.ones(1, P)):
        given.requires_grad_(True)
        found = spread(given, 1.0)
        assert float(found.detach()) == 0
        found.backward()
        assert torch.equal(given.grad, torch.zeros_like(given))
    same = torch.ones(3, P, requires_grad=True)
    (paired(same, same.detach()) + to_nearest(same, same.detach())).backward()
    assert bool(torch.isfinite(same.grad).all())


@pytest.mark.parametrize("width", [2, 32, 200])
def test_law_no_distance_depends_on_the_width(width: int) -> None:
    """Of latents with unit variance two are sqrt(2) apart, whatever P."""
    z = torch.randn(400, width, generator=torch.Generator().manual_seed(0))
    assert float(spread_of_pairs(z).square()) == pytest.approx(2, rel=0.3)
    assert float(spread_of_pairs(z.repeat(1, 3))) == pytest.approx(float(spread_of_pairs(z)), rel=1e-5)


@pytest.mark.parametrize("kind", ["pairs", "nearest"])
def test_law_pull_brings_pairs_together_and_push_each_set_apart(kind: str) -> None:
    config = FusionConfig(s2s=0, ae=0, between=0, pull=1, push=1, spread=kind, cap=2.0)
    score, one = fusion(config), batch()
    z = torch.cat([latents(0), latents(1)]).float() * 0.3
    z.requires_grad_(True)
    optim = torch.optim.Adam([z], lr=0.02)

    def terms() -> tuple[Tensor, Tensor]:
        state = Posterior(z, torch.zeros_like(z))
        pull, push = (score[name].total({}, one, state) / score[name].count(one) for name in ("pull", "push"))
        return pull, push

    assert (score["pull"].weight, score["push"].weight) == (1, -1)
    first = [float(term.detach()) for term in terms()]
    for _ in range(200):
        optim.zero_grad()
        pull, push = terms()
        (pull - push).backward()
        optim.step()
    last = [float(term.detach()) for term in terms()]
    assert last[0] < 0.2 * first[0]
    sets = 2 if kind == "pairs" else 1
    assert last[1] > 0.9 * sets * 2.0, "up to the cap"
    assert float(z.detach().abs().max()) < 10, "and not beyond it"


def test_parity_terms_with_their_formulas() -> None:
    one, z = batch(with_style=True), torch.cat([latents(seed) for seed in range(3)])
    state = Posterior(z, torch.zeros_like(z))
    a, b, c = z.chunk(3)
    head = FusionHead(spaces.writer(P)).eval()
    with torch.no_grad():
        predicted = head(state, one)
    for kind, spread in (("pairs", spread_of_pairs), ("nearest", spread_of_nearest)):
        score = fusion(FusionConfig(spread=kind, cap=None, style=2.0, s2s=5.0), with_style=True)
        assert list(score) == ["s2s", "ae", "between", "style", "pull", "push"]
        assert [term.weight for term in score.values()] == [5.0, 1.0, 1.0, 2.0, 30.0, -30.0]
        found = {name: float(term.total(predicted, one, state) / term.count(one)) for name, term in score.items()}
        assert found["pull"] == pytest.approx(float(0.5 * (paired(a, b) + to_nearest(a, c))))
        each = [float(spread(group, None)) for group in (a, b, c)]
        assert found["push"] == pytest.approx(sum(each) if kind == "pairs" else min(each))
        rows, lengths = one.targets["written"], one.targets["written_length"]
        gold = rows[:, 1:][asked(rows, lengths)]
        nats = -predicted["s2s"].log_softmax(-1).gather(-1, gold[:, None]).sum() / B
        assert found["s2s"] == pytest.approx(float(nats))


def test_parity_the_soft_loss_weighs_each_sample_by_its_tau() -> None:
    """-tau log p(style | z'_tau) - (1 - tau) log p(response | z'_tau), sentence by sentence."""
    torch.manual_seed(3)
    one, z = batch(with_style=True), torch.cat([latents(seed) for seed in range(3)])
    with torch.no_grad():
        predicted = FusionHead(spaces.writer(P)).train()(Posterior(z, z), one)
    expected = 0.0
    for number, tau in enumerate(predicted["share"].tolist()):
        for name, key, weight in (("style", "style", tau), ("response", "written", 1 - tau)):
            lengths = one.targets[f"{key}_length"]
            first = int((lengths[:number] - 1).sum())
            size = int(lengths[number]) - 1
            words = one.targets[key][number, 1 : size + 1].tolist()
            rows = predicted[name][first : first + size].log_softmax(-1)
            expected -= weight * sum(float(row[word]) for row, word in zip(rows, words, strict=True))
    assert float(soft(predicted, one, Posterior(z, z))) == pytest.approx(expected)
