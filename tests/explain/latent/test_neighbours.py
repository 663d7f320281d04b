"""Nearest latents against a plain search by numpy and by torch's own divergences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from psitext.explain.latent.neighbours import DISTANCES, By, nearest
from psitext.state import Posterior


def space(count: int, seed: int, width: int = 6, offset: float = 0.0) -> Posterior:
    generator = torch.Generator().manual_seed(seed)
    mean = torch.randn(count, width, generator=generator) + offset
    return Posterior(mean, torch.randn(count, width, generator=generator) - 2)


def plain(queries: Posterior, among: Posterior, by: str) -> np.ndarray:
    """(Q, N) distances, one pair after another."""
    found = np.zeros((len(queries), len(among)))
    for i, j in np.ndindex(found.shape):
        a, b = queries.vector[i].numpy().astype(float), among.vector[j].numpy().astype(float)
        if by == "cosine":
            found[i, j] = 1 - a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        elif by == "euclidean":
            found[i, j] = np.linalg.norm(a - b)
        else:
            p, q = (Normal(s.vector[k].double(), (s.log_var[k].double() / 2).exp())
                    for s, k in ((queries, i), (among, j)))  # fmt: skip
            found[i, j] = float((kl_divergence(p, q) + kl_divergence(q, p)).sum() / 2)
    return found


@pytest.mark.parametrize("by", DISTANCES)
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_parity_with_a_plain_search(by: By, offset: float) -> None:
    queries, among = space(4, 0, offset=offset), space(23, 1, offset=offset)
    table = plain(queries, among, by)
    order = np.argsort(table, axis=1, kind="stable")[:, :5]
    found = nearest(queries, among, 5, by, block=7 * 4 * 6)
    np.testing.assert_allclose(found.distance, np.take_along_axis(table, order, 1), rtol=1e-9, atol=1e-12)
    assert np.array_equal(found.index, order)


@pytest.mark.parametrize("by", DISTANCES)
def test_law_blocks_do_not_matter_and_equal_ones_keep_their_order(by: By) -> None:
    half = space(9, 2)
    among = Posterior(half.vector.repeat(2, 1), half.log_var.repeat(2, 1))
    for block in (1, 4 * 9 * 6, 1_000):  # numbers: one latent at a time, four, all
        found = nearest(half, among, 3, by, block)
        assert found.index[:, :2].tolist() == [[i, i + 9] for i in range(9)]
        torch.testing.assert_close(found.distance[:, :2], torch.zeros(9, 2).double(), rtol=0, atol=1e-12)
    assert nearest(half, among, 99, by).index.shape == (9, 18)


@pytest.mark.parametrize("by", DISTANCES)
def test_law_distances_are_symmetric(by: By) -> None:
    a, b = space(3, 4), space(3, 5)
    wide = [Posterior(state.vector.double(), state.log_var.double()) for state in (a, b)]
    torch.testing.assert_close(DISTANCES[by](*wide), DISTANCES[by](*wide[::-1]).mT)


def test_known_a_latent_at_the_origin_has_no_direction() -> None:
    among = space(3, 6)
    found = nearest(Posterior(torch.zeros(1, 6), torch.zeros(1, 6)), among, 3)
    assert found.distance.tolist() == [[1, 1, 1]] and found.index.tolist() == [[0, 1, 2]]


def test_known_divergences_of_tiny_variances() -> None:
    tight, wider = (Posterior(torch.zeros(1, 2), torch.full((1, 2), log_var)) for log_var in (-501.0, -500.0))
    found = nearest(tight, wider, 1, "kl").distance
    assert float(found) == pytest.approx(2 * np.sinh(0.5) ** 2)


def test_known_what_has_no_neighbours() -> None:
    with pytest.raises(ValueError, match="have no distance"):
        nearest(space(1, 0, width=3), space(2, 0), 1)
    with pytest.raises(ValueError, match="one at least"):
        nearest(space(1, 0), space(2, 0), 0)
