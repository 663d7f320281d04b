"""Who judges sentences, on what, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from psitext.errors import UserError
from psitext.experiments.control.data import Parts, key, labelled, parts_of
from psitext.experiments.control.judging import judge_of, judged
from psitext.text.examples import Example


@pytest.fixture(scope="module")
def parts() -> Parts:
    return parts_of("toy-sentiment", None, 200, limit=300)


def test_law_the_parts_have_no_sentence_in_common(parts: Parts) -> None:
    writes, judges, held = ({key(one.text) for one in some} for some in (parts.train, parts.judge, parts.held_out))
    assert len(parts.train) == 300 and not judges & held and not writes & (judges | held)
    assert 100 < len(parts.held_out) <= 200 < len(parts.judge)
    again = parts_of("toy-sentiment", None, 200, limit=10)
    assert again.judge == parts.judge and again.held_out == parts.held_out and len(again.train) == 10


def test_known_verdict_of_real_sentences_of_wrong_ones_and_of_one_alone(parts: Parts) -> None:
    judge = judge_of(parts)
    said = judge.classify([one.text for one in parts.held_out])
    right = [label == one.label for label, one in zip(said, parts.held_out, strict=True)]
    assert judge.accuracy == pytest.approx(sum(right) / len(right)) and judge.accuracy > 0.5
    own = {label: [one.text for one in parts.held_out if one.label == label][:40] for label in parts.labels}
    real = judged(judge, own)
    own_right = [label == asked for asked, some in own.items() for label in judge.classify(some)]
    assert (
        real.accuracy == pytest.approx(sum(own_right) / 80)
        and real.bleu == pytest.approx(1)
        and real.copied == 0
        and real.judge == judge.accuracy
    )
    turned = judged(judge, dict(zip(own, reversed(own.values()), strict=True)))
    assert turned.accuracy == pytest.approx(1 - real.accuracy)
    assert turned.each["positive"] == pytest.approx(1 - real.each["negative"])
    same = judged(judge, {label: [parts.train[0].text] * 5 for label in parts.labels})
    assert same.self_bleu == pytest.approx(1) and same.different == 0.1 and same.copied == 1 and same.accuracy == 0.5
    assert same.metrics()["g"] == pytest.approx((same.accuracy * same.bleu) ** 0.5)
    assert list(real.metrics())[:4] == ["accuracy", "bleu", "g", "self-bleu"]


def test_known_bad_input(parts: Parts, tmp_path: Path) -> None:
    judge = judge_of(parts)
    for wrong in ({"negative": ["a"], "positive": []}, {"negative": [], "positive": []}):
        with pytest.raises(UserError, match="equal numbers of sentences"):
            judged(judge, wrong)
    with pytest.raises(UserError, match="no task of single texts with labels"):
        parts_of("toy-tags", None, 10)
    file = tmp_path / "scores.csv"
    file.write_text("text,label\n" + "".join(f"a {n},{n / 7}\n" for n in range(12)))
    with pytest.raises(UserError, match="no labels of single texts"):
        labelled(str(file), None, "text", "label", None, 10)


def test_known_labels_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("said,mood\nfine,good\n ,bad\nawful,bad\ngreat,good\n")
    given = labelled(str(file), None, "said", "mood", None, 10)
    assert given.labels == ("bad", "good") and [one.text for one in given.examples] == ["fine", "awful", "great"]
    assert given.notes == ("1 of them is empty, and left out",)
    fewer = labelled(str(file), None, "said", "mood", None, 2)
    assert len(fewer.examples) <= 2 and all(isinstance(one, Example) for one in fewer.examples)
    assert fewer.notes[0] == "2 of 4 examples, drawn at random"
