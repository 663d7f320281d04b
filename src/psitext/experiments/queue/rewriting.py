"""How much of a sentence its latent keeps: sentences of a corpus's test text, written again from posterior means.

Letters: S sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from psitext.config import Config
from psitext.errors import UserError
from psitext.experiments.latents.bounds import Draws
from psitext.experiments.latents.encoded import encoded
from psitext.experiments.latents.report import accuracy, sentences_for
from psitext.experiments.latents.telling import reconstruct
from psitext.experiments.runs import corpus
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import Model, decoder_of
from psitext.randomness import generator
from psitext.train.network import parameter_count

EXACT, GREEDY, SHOWN = "exact_match", "token_accuracy_greedy", "token_accuracy"


class Rewriting(Config):
    """Which sentences are written again: distinct ones, of few words between white space."""

    max_words: int = Field(default=8, gt=0)
    sentences: int | None = Field(default=None, gt=0)  # so many, by a draw that is the same for every model; None = all


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a result line says: scores, the sentences behind them, and the space."""

    metrics: dict[str, float]
    rows: dict[str, int]
    notes: dict[str, Any]


def rewritten(model: Model, name: str, how: Rewriting, data_dir: Path | None) -> Rewritten:
    """A space on the test text of the corpus ``name``, greedily, from means.

    ``exact_match``: share of the S sentences that come back as the model's writer can write them.
    ``token_accuracy_greedy``: share of their tokens, ends included, that stand in their places in what was written.
    ``token_accuracy``: share of tokens that are the first choice after the right tokens before them.
    Errors: a model that is no space; no sentence that is short enough.
    """
    chosen, there = short(name, how, data_dir)
    source = sentences_for(model, chosen)
    kept = source.sentences
    told = reconstruct(model, kept.texts)
    decoder = decoder_of(model)
    shown = accuracy(decoder, encoded(model.network.encoder, source), Draws())
    notes = {
        "latent": decoder.config.latent,
        "parameters": parameter_count(model.network),
        "max_words": how.max_words,
        "steps": model.facts.get("steps"),
    }
    left_out = {"too long for the model": len(chosen) - len(kept.texts)} if len(kept.texts) < len(chosen) else {}
    scores = {EXACT: told.exact, GREEDY: told.token_accuracy, SHOWN: shown, "sentences": float(len(kept.texts))}
    return Rewritten(scores, {"test": len(kept.texts), "of": there, **left_out}, notes)


def short(name: str, how: Rewriting, data_dir: Path | None) -> tuple[list[str], int]:
    """The sentences of a corpus's test text to write again, in its order, and how many short ones it has."""
    part = CorpusConfig(files=(f"corpus:{name}/test",), dir=None if data_dir is None else str(data_dir))
    texts = dict.fromkeys(text for text in corpus.read([part]) if text)
    found = [text for text in texts if 0 < len(text.split()) <= how.max_words]
    if not found:
        raise UserError(f"the test text of {name} has no sentence of at most {how.max_words} words")
    if how.sentences is None or how.sentences >= len(found):
        return found, len(found)
    order = generator(0, "rewritten").permutation(len(found))[: how.sentences]
    return [found[at] for at in sorted(order.tolist())], len(found)
