"""What answers are worth on a test set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import talks
from psitext.baselines.bag_of_words import words
from psitext.experiments.dialog import Answering, Responder, load_responder, respond_run
from psitext.experiments.dialog.scoring import DialogTest, drawn, scored
from psitext.experiments.dialog.styling import judges
from psitext.score.dialog.answers import bleu
from psitext.text.dialogs import Turn

pytest.importorskip("nltk")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Responder:
    place: Path = talks.written(tmp_path_factory.mktemp("scoring"))
    respond_run(talks.recipe(place, train={"steps": 60}), place / "run")
    return load_responder(place / "run")


def test_law_turns_are_drawn_by_a_seed_in_their_order() -> None:
    turns = talks.every_turn()
    some = drawn(turns, 10)
    assert some == drawn(turns, 10) != drawn(turns, 10, seed=1)
    assert [turns.index(one) for one in some] == sorted(turns.index(one) for one in some)
    assert drawn(turns, None) == drawn(turns, 99) == turns


def test_parity_scores_with_their_definition(found: Responder) -> None:
    turns, test = drawn(talks.every_turn(), 6), DialogTest(answers=4, spread=0.4, limit=6)
    result = scored(found, turns, test)
    answers = found.answers([turn.context for turn in turns], Answering(4, 0.4))
    table = np.array(
        [[bleu(words(turn.response), words(one)) for one in some] for turn, some in zip(turns, answers, strict=True)]
    )
    recall, precision = table.max(1).mean(), table.mean()
    assert result.metrics["recall"] == pytest.approx(recall)
    assert result.metrics["precision"] == pytest.approx(precision)
    assert result.metrics["f1"] == pytest.approx(2 * recall * precision / (recall + precision))
    assert 0 < precision <= recall
    assert result.metrics["length"] == pytest.approx(np.mean([len(words(one)) for some in answers for one in some]))
    assert [one["said"] for one in result.shown] == [turn.response for turn in turns[:5]]


def test_law_one_latent_has_one_answer(found: Responder) -> None:
    """Recall equals precision, as of the paper's Seq2Seq."""
    metrics = scored(found, drawn(talks.every_turn(), 5), DialogTest(answers=10, spread=0.0)).metrics
    assert metrics["recall"] == pytest.approx(metrics["precision"])
    assert 0 < metrics["distinct"] <= 0.1 + 1e-9


def test_law_judges_read_every_answer(found: Responder) -> None:
    turns = [Turn(("no .",), "no .")]
    known = judges(talks.STYLE, [[f"{one} the cat is here" for one in "abcdefghijkl"]], None)
    metrics = scored(found, turns, DialogTest(answers=3), known).metrics
    (answers,) = found.answers([["no ."]], Answering(3))
    assert metrics["ngram"] == pytest.approx(known.intensity(answers)["ngram"])
