"""Paths begin and end with the sentences' own latents; arcs keep norms and go at constant speed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.latent.paths import COURSES, Course, linear, shares, spherical, through


def latents(count: int, width: int = 5, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("how", COURSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_law_the_ends_of_a_path_are_the_latents_themselves(how: str, dtype: torch.dtype) -> None:
    a, b = latents(2, 7, dtype=dtype)
    found = COURSES[how](a, b, shares(10))
    assert found.dtype == dtype and found.shape == (11, 7)
    assert torch.equal(found[0], a) and torch.equal(found[-1], b)


@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(-8, 8), st.floats(-8, 8))
def test_law_a_path_back_is_the_path(seed: int, width: int, first: float, second: float) -> None:
    a, b = latents(2, width, seed)
    a, b = a * 10**first, b * 10**second
    for course in COURSES.values():
        there, back = course(a, b, shares(7)), course(b, a, shares(7))
        torch.testing.assert_close(there, back.flip(0), rtol=1e-9, atol=1e-12 * float(there.abs().max()))


@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(-6, 6))
def test_law_an_arc_between_equal_norms_keeps_the_norm_at_constant_speed(seed: int, width: int, size: float) -> None:
    a, b = (10**size * row / row.norm() for row in latents(2, width, seed))
    found = spherical(a, b, shares(8))
    torch.testing.assert_close(found.norm(dim=1), a.norm().expand(9), rtol=1e-12, atol=0)
    steps = found.diff(dim=0).norm(dim=1)
    torch.testing.assert_close(steps, steps.mean().expand(8), rtol=1e-6, atol=0)


def test_known_arcs() -> None:
    x, y = torch.tensor([1.0, 0.0], dtype=torch.float64), torch.tensor([0.0, 3.0], dtype=torch.float64)
    third = spherical(x, y, torch.tensor([1 / 3]))[0]
    size = 2 / 3 * 1 + 1 / 3 * 3
    np.testing.assert_allclose(third, size * np.array([np.cos(np.pi / 6), np.sin(np.pi / 6)]), atol=1e-15)
    torch.testing.assert_close(linear(x, y, torch.tensor([0.25]))[0], torch.tensor([0.75, 0.75]).double())


def test_law_an_arc_without_an_angle_is_a_straight_line() -> None:
    (a,) = latents(1)
    for b in (a, 3 * a, a + 1e-9 * latents(1, seed=1)[0], torch.zeros_like(a)):
        torch.testing.assert_close(spherical(a, b, shares(5)), linear(a, b, shares(5)), rtol=1e-9, atol=1e-15)


def test_known_opposite_latents_have_no_shortest_arc() -> None:
    a = latents(1, dtype=torch.float32)[0]
    with pytest.raises(UserError, match="opposite directions"):
        spherical(a, -2 * a, shares(3))
    nearly = spherical(a.double(), -a.double() + 1e-4 * latents(1, seed=3)[0], shares(4))
    torch.testing.assert_close(nearly.norm(dim=1), a.norm().double().expand(5), rtol=1e-3, atol=0)


@pytest.mark.parametrize("how", ["linear", "spherical"])
def test_law_a_path_through_several_has_each_once(how: Course) -> None:
    points = latents(4)
    found, places = through(points, 3, how)
    assert found.shape == (10, 5)
    assert torch.equal(found[::3], points)
    np.testing.assert_allclose(places, np.arange(10) / 3, atol=1e-15)
    torch.testing.assert_close(found[3:7], COURSES[how](points[1], points[2], shares(3)))


def test_known_shares_of_the_paper() -> None:
    assert shares(10).tolist() == [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_known_what_is_no_path() -> None:
    with pytest.raises(UserError, match="it takes two at least, not 1"):
        through(latents(1), 3)
    with pytest.raises(UserError, match="at least one step, not 0"):
        through(latents(2), 0)
    with pytest.raises(ValueError, match="leads between latents"):
        linear(latents(1, 3)[0], latents(1, 4)[0], shares(1))
