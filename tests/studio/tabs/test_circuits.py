"""Explanations as HTML: the numbers of ``Model.explain``, and what there is to say without any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
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


@pytest.mark.parametrize("classes", [2, 3])
def test_parity_the_values_over_the_temperature_are_the_probability(classes: int) -> None:
    model = replace(racs.model(classes=classes), temperature=0.25)
    found = model.explain("not a fine film")
    told = circuits.told(found, model.temperature)
    now = float(found.logits[found.shown])
    what = "log-odds" if classes == 2 else "logits"
    said = f"{what} divided by the temperature 0.25, here {now:+.3f} / 0.25 = {now / 0.25:+.3f}."
    assert said in told and f"These are {what} before calibration" in told
    if classes == 2:
        assert found.answer.probability == pytest.approx(1 / (1 + np.exp(-abs(now) / 0.25)), abs=1e-5)
    assert "calibration" not in circuits.told(racs.model().explain("fine"))


def test_law_a_text_is_read_as_far_as_the_model_reads_and_not_beyond_120_words() -> None:
    model = racs.model()
    found = model.explain("fine " * 70)
    assert len(found.words) + found.cut == 70 and found.cut > 0
    told = circuits.explained(model, "fine " * 70)
    assert f"{found.cut} words are beyond what the model reads, and left out." in told
    with pytest.raises(UserError, match="the text has 121 words; at most 120"):
        circuits.explained(model, "fine " * 121)


def test_law_more_words_than_are_drawn_are_refused() -> None:
    found = racs.model().explain("fine film")
    with pytest.raises(UserError, match="reads 61 words of this text; at most 60"):
        circuits.told(replace(found, words=("fine",) * 61))
