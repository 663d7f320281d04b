"""A sentence as a Gaussian: what its posterior is made from, and a language model's, which is nothing."""

from __future__ import annotations

import pytest
import torch

import tiny
from psitext.config import build
from psitext.encoders.vae import Nothing, NothingConfig, Vae, VaeConfig
from psitext.state import Posterior

LATENT = 5


def vae(**changes: object) -> Vae:
    torch.manual_seed(0)
    trunk = tiny.SHAPE.model_copy(update={"pool": "cls"})
    return Vae(VaeConfig(trunk=trunk, latent=LATENT).model_copy(update=changes)).eval()


def test_known_mean_and_log_variance_are_one_product_with_the_trunks_vector() -> None:
    encoder, batch = vae(), tiny.batch([5, 3, 7])
    state = encoder(batch)
    assert isinstance(state, Posterior)
    both = encoder.trunk(batch).vector @ encoder.posterior.weight.T
    torch.testing.assert_close(torch.cat([state.vector, state.log_var], 1), both)
    assert encoder.posterior.bias is None
    assert (encoder.config.width, encoder.config.real_width, len(state), state.width) == (LATENT, LATENT, 3, LATENT)


@pytest.mark.parametrize("pool", ["pooled", "cls", "mean"])
def test_law_every_pool_reaches_the_posterior_and_every_weight_is_trained(pool: str) -> None:
    encoder = vae(trunk=tiny.SHAPE.model_copy(update={"pool": pool}))
    state = encoder(tiny.batch([4, 6]))
    (state.vector.square().sum() + state.log_var.square().sum()).backward()
    assert encoder.config.pool == pool
    assert all(weight.grad is not None for weight in encoder.parameters())


def test_law_a_bound_cuts_log_variances_and_nothing_else() -> None:
    free, bound = vae(), vae(log_var_bound=0.01)
    batch = tiny.batch([5, 3])
    assert free(batch).log_var.abs().max() > 0.01
    assert bound(batch).log_var.abs().max().item() == pytest.approx(0.01)
    assert torch.equal(free(batch).vector, bound(batch).vector)


def test_law_a_language_model_has_a_state_of_no_width() -> None:
    state = Nothing(NothingConfig())(tiny.batch([5, 3]))
    assert (state.vector.shape, state.log_var.shape) == ((2, 0), (2, 0))
    assert build(NothingConfig, {"family": "nothing"}, "test").latent == 0
