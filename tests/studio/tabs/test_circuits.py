"""Explanations as HTML: the numbers of ``Model.explain``, and what there is to say without any."""

from __future__ import annotations

from dataclasses import replace

import pytest

import racs
from psitext.errors import UserError
from psitext.studio.tabs import circuits


def test_parity_every_number_is_the_explanations() -> None:
    found = racs.model(classes=3).explain("not a fine film and a zebra", top=circuits.FLIPS)
    told = circuits.told(found)
    at = found.shown
    for word, value in zip(found.words, found.shapley[at].tolist(), strict=True):
        assert f'<th scope="row">{word}</th><td>{value:+.3f}</td>' in told
    assert "does not know: zebra." in told
    assert found.answer.probability is not None
    assert f"<h3>{found.answer.label}: {found.answer.probability:.3f}</h3>" in told
    assert f"Shapley values of {found.says[at]}" in told
    assert all(one.instead in told for one in found.flips)
    assert told.count("<svg role") == 1


def test_known_without_words_there_is_a_prior() -> None:
    told = circuits.told(racs.model().explain("zebra zebra"))
    assert "knows no word of this text" in told and "<svg" not in told
    one = circuits.told(racs.model().explain("fine"))
    assert "<svg" not in one and "Shapley values" in one


def test_law_more_words_than_are_drawn_are_refused() -> None:
    found = racs.model().explain("fine film")
    with pytest.raises(UserError, match="reads 61 words of this text; at most 60"):
        circuits.told(replace(found, words=("fine",) * 61))
