"""Writing from a space: parity with the functions that the command line uses, the bounds, the words."""

from __future__ import annotations

import pytest

import tellers
from psitext.errors import UserError
from psitext.experiments.latents import telling
from psitext.studio.tabs import writing

A, B, C = "a girl sits", "one boy sits", "a girl is running fast"


def test_parity_with_telling() -> None:
    model = tellers.space()
    assert writing.path(model, A, B, 4, "spherical") == telling.interpolate(model, [A, B], 4, "spherical")
    assert writing.drawn(model, 3, 0.0, 5).texts == telling.sample(model, 3, how=_seeded(model, 5)).texts
    warm = writing.drawn(model, 6, 3.0, 1)
    assert warm == writing.drawn(model, 6, 3.0, 1) and warm != writing.drawn(model, 6, 3.0, 2)


def test_law_a_way_that_there_is_not_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'linear'"):
        writing.path(tellers.space(), A, B, 4, "linera")


def test_known_the_examples_are_sentences_that_the_shipped_space_writes() -> None:
    from psitext.model import load

    model = load("optimus-tiny")
    for one in (*writing.ENDS, *writing.ANALOGY):
        assert writing.path(model, one, one, 1, "linear").texts[0] == one
    assert telling.analogy(model, *([one] for one in writing.ANALOGY)).texts[0] == "he was happy for a week."


def test_known_words() -> None:
    model = tellers.space()
    told = writing.told_path(writing.path(model, A, B, 2, "linear"))
    assert f'<th scope="row">0.00</th><td>{A}</td>' in told and f'<th scope="row">1.00</th><td>{B}</td>' in told
    found = telling.analogy(model, [A], [B], [C])
    assert f"<h3>{found.texts[0]}</h3>" in writing.told_analogy(found)
    assert writing.told_samples(writing.drawn(model, 3, 0.0, 0)).count('scope="row"') == 3


def _seeded(model: object, seed: int) -> object:
    from dataclasses import replace

    from psitext.model.writing import usual

    return replace(usual(model), seed=seed)  # type: ignore[arg-type]
