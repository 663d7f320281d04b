"""baselines/discocat/model.py and reading.py: what order means to which reader, unknown words, logits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lambeq", reason="lambeq comes with the extra qnlp")

from psitext.baselines.discocat.model import UNKNOWN, Discocat, vocabulary
from psitext.baselines.discocat.reading import TextReader, diagram
from psitext.baselines.discocat.settings import DiscocatConfig


def made(texts: list[str], classes: int = 2, **settings: Any) -> Discocat:
    reader = TextReader(DiscocatConfig.model_validate(settings))
    return Discocat(reader, vocabulary(map(reader, texts), reader.types()), classes, seed=0).double()


def logits(model: Discocat, *texts: str) -> torch.Tensor:
    return model([model.fill(model.reader(text)) for text in texts]).detach()


WORDS = "a b c d e f"
SPIDERS, CUPS = made([WORDS], reader="spiders"), made([WORDS], reader="cups")


@settings(max_examples=20)
@given(st.permutations(WORDS.split()))
def test_law_spiders_do_not_see_order(words: list[str]) -> None:
    torch.testing.assert_close(logits(SPIDERS, " ".join(words)), logits(SPIDERS, WORDS))


@settings(max_examples=20)
@given(st.permutations(WORDS.split()))
def test_law_cups_see_order(words: list[str]) -> None:
    same = torch.allclose(logits(CUPS, " ".join(words)), logits(CUPS, WORDS), rtol=1e-9, atol=1e-9)
    assert same == (words == WORDS.split())


@pytest.mark.parametrize("reader", ["pregroup", "cups", "stairs", "spiders"])
@pytest.mark.parametrize("ansatz", ["spider", "iqp"])
def test_law_unknown_words_are_alike_and_never_an_error(reader: str, ansatz: str) -> None:
    model = made(["man prepares meal"], reader=reader, ansatz=ansatz)
    new = logits(model, "man prepares sauce", "man prepares dinner", "man prepares meal", "", "never heard of it !")
    assert torch.isfinite(new).all()
    torch.testing.assert_close(new[0], new[1])
    assert not torch.allclose(new[0], new[2])


def test_known_a_word_is_known_with_a_type() -> None:
    model = made(["player that hit run"])  # run, the noun
    noun = model.fill(model.reader("run"))
    verb = model.fill(model.reader("player run"))
    assert noun[1] != (UNKNOWN,)
    assert verb[0].types == ("n", "n.r s") and verb[1][1] == UNKNOWN


def test_known_what_the_grammar_does_not_cover_is_read_by_the_fallback() -> None:
    reader = TextReader(DiscocatConfig(fallback="stairs"))
    covered, not_covered = reader("man prepares meal ."), reader("A gripping film.")
    assert covered.covered and covered.shape.reader == "pregroup" and covered.words == ("man", "prepares", "meal")
    assert not not_covered.covered and not_covered.shape.reader == "stairs"
    assert not_covered.words == ("a", "gripping", "film", ".")


@pytest.mark.parametrize("scale", ["unit", "raw"])
def test_law_long_texts_have_finite_logits_and_unit_ones_do_not_die(scale: str) -> None:
    long = " ".join(f"w{number}" for number in range(60))
    model = made([long], reader="spiders", start="random", scale=scale).float()
    found = logits(model, long)
    assert torch.isfinite(found).all()
    assert (found.abs().max() > 1) == (scale == "unit")


def test_known_tables_and_parameters() -> None:
    model = made(["man prepares meal", "man prepares sauce"], dim=3)
    nouns, verb = model.tables["n/0"], model.tables["nr_s_nl/1"]
    assert tuple(nouns.shape) == (4, 3)  # man, meal, sauce and the unknown noun
    assert tuple(verb.shape) == (2, 3, 3)
    assert model.readout is not None and tuple(model.readout.shape) == (2, 3)
    assert made([""]).readout is None


@pytest.mark.parametrize("classes", [2, 3])
def test_law_sigmoids_of_a_circuit_are_probabilities(classes: int) -> None:
    model = made(["a b c"], classes, reader="cups", ansatz="iqp")
    found = logits(model, "a b c", "c b a").sigmoid()
    assert found.shape == (2, classes)
    torch.testing.assert_close(found.sum(1), torch.ones(2, dtype=torch.float64), rtol=0, atol=1e-5)


def test_known_wired_pronouns_have_no_parameters() -> None:
    shape = TextReader(DiscocatConfig(pronouns="wires"))("device that carry water").shape
    assert shape.wires == (1,)
    assert [box.name for box in diagram(shape).boxes if type(box).__name__ == "Word"] == ["0", "2", "3"]
