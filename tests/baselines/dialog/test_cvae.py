"""The conditional autoencoder: prior of the context, recognition of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

import spaces
import talks
from psitext.baselines.dialog import Cvae, CvaeHead
from psitext.state import Posterior
from psitext.text.batches import Batch
from psitext.text.dialogs import DialogSource, parted

SAMPLES = np.array([3, 1, 8])


def batch() -> Batch:
    return DialogSource(talks.gathered(), talks.reader(), talks.writer()).build(SAMPLES)


def made(size: float = 0.0) -> Cvae:
    net = Cvae(talks.encoder(0), talks.encoder(1)).eval()
    with torch.no_grad():
        net.beside.weight.add_(size * torch.randn(net.beside.weight.shape, generator=torch.Generator().manual_seed(0)))
    return net


def test_law_it_starts_as_the_two_encoders() -> None:
    net, (context, response) = made(), parted(batch())
    state = net(batch())
    prior, recognised = net.contexts(context), net.sentences(response)
    assert torch.allclose(state.vector, torch.cat([prior.vector, recognised.vector]), atol=1e-6)
    assert torch.allclose(state.log_var, torch.cat([prior.log_var, recognised.log_var]), atol=1e-6)


def test_law_recognition_sees_both_and_the_prior_only_the_context() -> None:
    net, one = made(0.5), batch()
    before = net(one)
    for first, last, moved in ((0, 3, (True, True)), (3, 6, (False, True))):
        ids = one.ids.clone()
        ids[first:last] = ids[first:last].flip(0) if first else 9
        after = net(replace(one, ids=ids))
        changed = [not torch.allclose(before[at : at + 3].vector, after[at : at + 3].vector) for at in (0, 3)]
        assert tuple(changed) == moved


def test_parity_recognition_is_one_linear_layer_over_both_states() -> None:
    net, (context, response) = made(0.5), parted(batch())
    both = torch.cat([net.sentences.trunk(response).vector, net.contexts.trunk(context).vector], dim=1)
    weight = torch.cat([net.sentences.posterior.weight, net.beside.weight], dim=1)
    mean, log_var = (both @ weight.T).chunk(2, dim=1)
    state = net(batch())
    assert torch.allclose(state.vector[3:], mean, atol=1e-5) and torch.allclose(state.log_var[3:], log_var, atol=1e-5)


def test_law_the_head_writes_from_what_was_recognised() -> None:
    one = spaces.Made((3, 1, 4)).build(np.arange(3))
    random = torch.Generator().manual_seed(0)
    mean = torch.randn(6, 4, generator=random, dtype=torch.float64)
    state = Posterior(mean, torch.full_like(mean, -2.0))
    head = CvaeHead(spaces.writer(4)).eval()
    first = head(state, one)
    assert torch.equal(first["written"], head(state, one)["written"]), "out of training the same each time"
    other = Posterior(torch.cat([mean[:3] + 1, mean[3:]]), state.log_var)
    assert torch.equal(head(other, one)["latent"], first["latent"])
    head.train()
    draws = torch.stack([head(state, one)["latent"] for _ in range(200)])
    assert torch.allclose(draws.mean(0), mean[3:], atol=0.15)
    assert torch.allclose(draws.std(0), torch.full_like(mean[3:], np.exp(-1)), rtol=0.25)
