"""Which sentences are labelled: as many of each class, the smaller draws inside the larger, none of the test."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import ValidationError

from psitext.errors import UserError
from psitext.experiments.lowresource.draws import per_label, sides, trial
from psitext.experiments.lowresource.protocol import FewLabels, Plane
from psitext.text.examples import Example, Task

TASK = Task(
    name="two", title="Two", kind="classification", text="text", label="label", labels=("a", "b"),
    metrics=("accuracy",), headline="accuracy",
)  # fmt: skip
FEW = FewLabels(counts=(1, 4), trials=(3, 2), test=5, pool=20)


def rows(count: int, start: int = 0) -> list[Example]:
    return [Example(f"sentence {place}", label="ab"[place % 2]) for place in range(start, start + count)]


@given(some.lists(some.sampled_from("abc"), min_size=12, max_size=60), some.integers(0, 5))
def test_law_as_many_of_every_label_and_fewer_inside_more(labels: list[str], seed: int) -> None:
    least = min(Counter(labels).values())
    before: set[int] = set()
    for count in range(1, least + 1):
        chosen = per_label(labels, count, seed)
        assert chosen == sorted(set(chosen))
        assert set(Counter(labels[place] for place in chosen).values()) == {count}
        assert before <= set(chosen)
        before = set(chosen)
    with pytest.raises(UserError, match=f"has {least}"):
        per_label(labels, least + 1, seed)


def test_law_trials_differ_and_are_the_same_again() -> None:
    labels = [row.label for row in rows(200)]
    drawn = [tuple(trial(labels, 4, number, FEW)) for number in range(6)]
    assert len(set(drawn)) == 6
    assert drawn == [tuple(trial(labels, 4, number, FEW)) for number in range(6)]
    assert drawn[0] != tuple(trial(labels, 4, 0, FEW.model_copy(update={"seed": 100})))


def test_law_no_sentence_of_the_test_is_in_the_pool() -> None:
    dev = rows(20)
    train = rows(60, 10)  # ten of them are in both, here in other letters
    train = [Example(row.text.upper().replace(" ", "   "), label=row.label) for row in train]
    both = sides(TASK, train, dev, FewLabels(counts=(1,), trials=(1,), test=10, pool=100))
    assert Counter(row.label for row in both.test) == {"a": 10, "b": 10}
    assert both.shared == 10
    assert Counter(row.label for row in both.pool) == {"a": 25, "b": 25}
    assert not {row.text.casefold().split()[1] for row in both.pool} & {row.text.split()[1] for row in both.test}


def test_known_what_is_refused() -> None:
    with pytest.raises(UserError, match="training rows of a class"):
        sides(TASK, rows(6), rows(20, 100), FEW)
    with pytest.raises(UserError, match="is a regression"):
        sides(TASK.model_copy(update={"kind": "regression"}), rows(60), rows(20, 100), FEW)
    with pytest.raises(UserError, match="names of classes"):
        per_label([1.0, 2.0], 1, 0)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"counts": (1, 3), "trials": (1,)}, "1 numbers for 2 counts"),
        ({"counts": (3, 1), "trials": (1, 1)}, "ascend"),
        ({"counts": (0, 1), "trials": (1, 1)}, "at least 1"),
        ({"counts": (30,), "trials": (1,), "pool": 20}, "pool of 20"),
    ],
)
def test_known_settings_that_make_no_sense(given: dict[str, object], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        FewLabels(**given)
    with pytest.raises(ValidationError, match="too few"):
        Plane(points=50, perplexity=30)
    with pytest.raises(ValidationError, match="more than"):
        Plane(points=500, measured=100)
