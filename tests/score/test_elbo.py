"""The objectives of a sentence space: the closed form of KL, floors and their gradients, reductions, settings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.distributions import Normal, kl_divergence
from torch.testing import assert_close

import bigrams
from psitext.config import build
from psitext.errors import UserError
from psitext.score.elbo import FreeBits, ObjectiveConfig, elbo, free_bits, kl_per_dimension, loss_of, masked
from psitext.state import Posterior

KINDS: list[FreeBits] = ["none", "dimension", "total", "batch"]
NATS = st.floats(0, 3)
SEEDS = st.integers(0, 50)


def test_parity_kl_is_that_of_torch() -> None:
    mean, log_var = bigrams.posterior(200, 7)
    theirs = kl_divergence(Normal(mean, (0.5 * log_var).exp()), Normal(torch.zeros(()).double(), 1.0))
    found = kl_per_dimension(mean, log_var)
    assert_close(found, theirs)
    ours = torch.autograd.grad(found.sum(), [mean, log_var])
    assert_close(ours, torch.autograd.grad(theirs.sum(), [mean, log_var]))


def test_parity_kl_is_the_mean_of_log_ratios() -> None:
    mean, log_var = (value.detach() for value in bigrams.posterior(3, 2, seed=4))
    q = Normal(mean, (0.5 * log_var).exp())
    random = torch.Generator().manual_seed(0)
    z = mean + q.scale * torch.randn(400_000, 3, 2, generator=random, dtype=torch.float64)
    ratio = q.log_prob(z) - Normal(0.0, 1.0).log_prob(z)
    error = ratio.std(0) / len(z) ** 0.5
    assert (((ratio.mean(0) - kl_per_dimension(mean, log_var)) / error).abs() < 4).all()


def test_known_kl_next_to_the_prior_keeps_its_digits() -> None:
    """A variance of 1.0001 is 2.5e-9 nats from the prior: in float32, 1 - 1 would leave nothing of them."""
    log_var = torch.tensor([[1e-4]])
    assert float(kl_per_dimension(torch.zeros(1, 1), log_var)) == pytest.approx(2.5e-9, rel=0.01)
    half = kl_per_dimension(torch.ones(1, 1).bfloat16(), torch.zeros(1, 1).bfloat16())
    assert half.dtype == torch.float32
    assert float(half) == 0.5


@pytest.mark.parametrize("kind", KINDS)
@given(nats=NATS, seed=SEEDS)
def test_law_the_floor_and_the_mask_have_the_same_gradient(kind: FreeBits, nats: float, seed: int) -> None:
    """Notes 2.4: the original code's value is lower by what lies on the floor, its gradient is that of eq. 9."""
    mean, log_var = bigrams.posterior(5, 4, seed)
    kl = kl_per_dimension(mean, log_var)
    floored, bare = free_bits(kl, kind, nats), masked(kl, kind, nats)
    ours = torch.autograd.grad(floored, [mean, log_var], retain_graph=True)
    theirs = torch.autograd.grad(bare, [mean, log_var], retain_graph=True)
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    if kind == "dimension":
        by_hand = (kl * (kl > nats)).sum()
        assert_close(theirs, torch.autograd.grad(by_hand, [mean, log_var]))
        assert float((floored - bare).detach()) == pytest.approx(nats * int((kl <= nats).sum()))


def test_known_values_below_and_above_the_floor() -> None:
    kl = torch.tensor([[0.2, 1.0], [0.6, 2.0]])
    assert float(free_bits(kl, "none", 0.5)) == float(masked(kl, "none", 0.5)) == pytest.approx(3.8)
    assert float(free_bits(kl, "dimension", 0.5)) == pytest.approx(0.5 + 1.0 + 0.6 + 2.0)
    assert float(masked(kl, "dimension", 0.5)) == pytest.approx(1.0 + 0.6 + 2.0)
    assert float(free_bits(kl, "total", 0.7)) == pytest.approx(1.4 + 2.6)
    assert float(masked(kl, "total", 0.7)) == pytest.approx(2.6)
    assert float(free_bits(kl, "batch", 0.5)) == pytest.approx(2 * (0.5 + 1.5))
    assert float(masked(kl, "batch", 0.5)) == pytest.approx(2 * 1.5)


@given(nats=NATS, more=NATS, seed=SEEDS)
def test_law_floors(nats: float, more: float, seed: int) -> None:
    kl = kl_per_dimension(*bigrams.posterior(6, 3, seed)).detach()
    plain, slack = float(kl.sum()), 1e-9
    each, total, batch = (float(free_bits(kl, kind, nats)) for kind in ("dimension", "total", "batch"))
    # The finer the floor, the more it holds; a floor of 0 holds nothing, one of all holds all.
    assert each + slack >= max(total, batch) and min(total, batch) + slack >= plain
    assert min(each, total, batch) + slack >= nats * kl.numel()
    for kind, value in (("dimension", each), ("total", total), ("batch", batch)):
        assert float(free_bits(kl, kind, 0.0)) == pytest.approx(plain)  # type: ignore[arg-type]
        assert float(free_bits(kl, kind, nats + more)) + slack >= value  # type: ignore[arg-type]
        assert float(free_bits(kl, kind, 1e6)) == pytest.approx(1e6 * kl.numel())  # type: ignore[arg-type]
        assert plain + slack >= float(masked(kl, kind, nats))  # type: ignore[arg-type]
    assert float(free_bits(kl[:1], "batch", nats)) == pytest.approx(float(free_bits(kl[:1], "dimension", nats)))


@pytest.mark.parametrize("kind", KINDS)
def test_law_what_is_no_number_is_not_hidden_by_the_floor(kind: FreeBits) -> None:
    kl = torch.tensor([[0.1, float("nan")]])
    assert free_bits(kl, kind, 0.5).isnan()
    assert masked(kl, kind, 0.5).isnan()


@torch.no_grad()
def lost(config: ObjectiveConfig, network: torch.nn.Module, latent: int = 4) -> dict[str, tuple[float, float]]:
    """(sum, count) of each term on 10 sentences."""
    batch = bigrams.sentences().build(np.arange(10, 20))
    predicted, state = network.eval()(batch)
    return {
        name: (float(term.total(predicted, batch, state)), float(term.count(batch)))
        for name, term in elbo(config, latent).items()
    }


@torch.no_grad()
def test_parity_terms_are_sums_over_sentences() -> None:
    network = bigrams.network().eval()
    found = lost(ObjectiveConfig(), network)
    rec, divergence = 0.0, 0.0
    for number in range(10, 20):
        batch = bigrams.sentences().build(np.array([number]))
        predicted, state = network(batch)
        written = batch.targets["written"][0, 1:]
        rec -= float(predicted["written"].log_softmax(-1)[torch.arange(len(written)), written].sum())
        divergence += float(kl_divergence(Normal(state.vector, (0.5 * state.log_var).exp()), Normal(0.0, 1.0)).sum())
    assert found["rec"] == pytest.approx((rec, 10), rel=1e-5)
    assert found["kl"] == pytest.approx((divergence, 10), rel=1e-5)


def test_law_reductions_divide_by_what_they_are_named_after() -> None:
    network = bigrams.network()
    counts = {
        name: {term: count for term, (_, count) in lost(ObjectiveConfig(reduction=name), network).items()}
        for name in ("sentence", "token", "mixed")
    }
    tokens = sum(len(bigrams.sentences().words[number]) + 1 for number in range(10, 20))  # the end counts
    assert counts == {
        "sentence": {"rec": 10, "kl": 10},
        "token": {"rec": tokens, "kl": tokens},
        "mixed": {"rec": tokens, "kl": 10},
    }


@pytest.mark.parametrize("reduction", ["sentence", "token", "mixed"])
@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_parity_the_loss_at_the_end_is_that_of_the_score(reduction: str, kind: FreeBits) -> None:
    config = ObjectiveConfig(beta=0.4, schedule="linear", free_bits=kind, free_nats=0.05, reduction=reduction)
    batch = bigrams.sentences().build(np.arange(10, 20))
    _, state = bigrams.network().eval()(batch)
    score, sums = elbo(config, 4), lost(config, bigrams.network())
    loss = sum(term.weight_at(99, 100) * sums[name][0] / sums[name][1] for name, term in score.items())
    assert isinstance(state, Posterior)
    kl = kl_per_dimension(state.vector, state.log_var)
    written = int((batch.targets["written_length"] - 1).sum())
    assert loss_of(config, sums["rec"][0], kl, written) == pytest.approx(loss, rel=1e-5)


def test_known_a_language_model_has_one_term() -> None:
    network = bigrams.network(latent=0)
    assert set(lost(ObjectiveConfig(), network, latent=0)) == {"rec"}


def test_known_betas() -> None:
    config = ObjectiveConfig(beta=0.3, schedule="cyclical-zero", cycles=2, zero=0.2, rise=0.4)
    score = elbo(config, 4)
    expected = [0, 0.075, 0.225, 0.3, 0.3] * 2
    assert [score["kl"].weight_at(step, 10) for step in range(10)] == pytest.approx(expected, rel=1e-15)
    assert {score["rec"].weight_at(step, 10) for step in range(10)} == {1.0}
    assert ObjectiveConfig(beta=0.1).beta_at(3, 7) == 0.1  # as it is written
    assert ObjectiveConfig(beta=0, noise=False).beta_at(0, 1) == 0


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"cycles": 4}, "a constant schedule has no cycles; cycles = 4 goes with a cyclical one"),
        ({"cycles": 4, "schedule": "linear"}, "a linear schedule has no cycles"),
        ({"zero": 0.5, "schedule": "cyclical"}, "zero = 0.5 goes with schedule = 'cyclical-zero', not with 'cyclical'"),
        ({"rise": 0.5}, "rise = 0.5 goes with a schedule that rises, not with 'constant'"),
        ({"zero": 0.8, "schedule": "cyclical-zero"}, "4/5 of a cycle at 0 and 1/4 rising are not shares of one cycle"),
        ({"noise": False}, "with noise = false, beta is 0, not 1"),
        ({"beta": -1}, "sets beta to -1"),
        ({"free_nats": -1}, "sets free_nats to -1"),
        ({"free_bits": "dimensions"}, "sets free_bits to 'dimensions'"),
        ({"cycles": 0, "schedule": "cyclical"}, "sets cycles to 0"),
    ],
)
def test_known_settings_that_make_no_sense(settings: dict[str, object], wrong: str) -> None:
    with pytest.raises(UserError, match=wrong):
        build(ObjectiveConfig, settings, "a recipe")
