"""Protocols: the paper's values, and bond dimensions as a user writes them."""

from __future__ import annotations

import pytest

from psitext.errors import UserError
from psitext.experiments.sweep.protocol import Protocol, bonds_of


def test_known_the_papers_values() -> None:
    paper = Protocol()
    assert (paper.steps, paper.vocabulary, paper.features, paper.batch) == (50, 10_000, 4, 128)
    assert (paper.epochs, paper.flatten_epochs, paper.min_delta, paper.patience) == (200, 100, 1e-3, 4)
    assert round(50_000 * paper.share) == 40_000


def test_known_bonds() -> None:
    assert bonds_of("1:4") == (1, 2, 3, 4)
    assert bonds_of("1:40:13") == (1, 14, 27, 40)
    assert bonds_of("5,20") == (5, 20)
    for wrong in ("0:4", "4:1", "x", "", "1:9:0", "1:2:3:4", "3,-1", "1:1000000000", "5000"):
        with pytest.raises(UserError, match="--chi takes bond dimensions from 1 to 2,000"):
            bonds_of(wrong)
