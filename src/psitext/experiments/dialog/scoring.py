"""What a responder's answers are worth on a test set: recall, precision and F1 by BLEU, and how much of a style they
have.

Source: Li et al. 2020 (Optimus), tables 4 and 5; Gu et al. 2019: ten answers to every context, BLEU of up to three
words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field

from psitext.baselines.bag_of_words import words
from psitext.config import Config
from psitext.experiments.dialog.responder import Answering, Responder
from psitext.experiments.dialog.styling import Judges
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model.writing import usual
from psitext.randomness import generator
from psitext.score.dialog.answers import distinct_within, relevance, table
from psitext.text.dialogs import Turn

SHOWN = 5  # contexts whose first answers are kept to be read, the first of the test


class DialogTest(Config):
    """How a responder is tested."""

    files: tuple[str, ...] = ("dailydialog/test.tsv.gz",)  # dialogues
    limit: int | None = Field(default=1_000, gt=0)  # turns, drawn; None = all
    answers: int = Field(default=10, gt=0)  # to every context
    spread: float | None = Field(default=None, ge=0)
    style: float = Field(default=0.0, ge=0, le=1)
    sample: bool = False  # draw words, in place of the most probable ones
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0)
    # Judges of the style learn it from what recipe.style_share left, against these texts and against utterances of
    # these dialogues.
    against: tuple[CorpusConfig, ...] = ()
    against_dialogs: tuple[str, ...] = ()
    judge_sentences: int = Field(default=4_000, ge=50)  # of the style at most, and as many of all others
    judge: str | None = None  # a model whose frozen states the neural judge reads, by name or as --init gives it


@dataclass(frozen=True, slots=True)
class Scored:
    """What answers to a test set are worth, and some of them."""

    metrics: dict[str, float]
    shown: list[dict[str, object]]


def drawn(turns: Sequence[Turn], limit: int | None, seed: int = 0) -> list[Turn]:
    """At most ``limit`` turns by a keyed draw, in their order."""
    if limit is None or limit >= len(turns):
        return list(turns)
    return [turns[at] for at in sorted(generator(seed, "turns").permutation(len(turns))[:limit].tolist())]


def scored(responder: Responder, turns: Sequence[Turn], test: DialogTest, judges: Judges | None = None) -> Scored:
    """Answer the contexts of turns and compare with what was said.

    ``recall``, ``precision``, ``f1`` (of BLEU); ``distinct`` runs of two words within a context's answers; ``length``,
    mean words of an answer; with judges ``neural`` and ``ngram``, the mean probability of the style.
    """
    how = Answering(test.answers, test.spread, test.style, test.seed)
    writing = usual(responder.space)
    if test.sample:
        writing = replace(writing, sample=True, temperature=test.temperature, top_p=test.top_p, seed=test.seed)
    answers = responder.answers([turn.context for turn in turns], how, writing)
    found = table([turn.response for turn in turns], answers, words)
    every = [one for some in answers for one in some]
    metrics = {
        **relevance(found),
        "distinct": distinct_within(answers, words),
        "length": sum(len(words(one)) for one in every) / len(every),
    }
    if judges is not None:
        metrics |= judges.intensity(every)
    shown: list[dict[str, object]] = [
        {"context": list(turn.context[-3:]), "said": turn.response, "answers": list(dict.fromkeys(some))[:3]}
        for turn, some in list(zip(turns, answers, strict=True))[:SHOWN]
    ]
    return Scored(metrics, shown)
