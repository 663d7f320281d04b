"""How likely a space, or a language model, makes a corpus's test text, and what its latents tell of its sentences."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from psitext.config import Config
from psitext.experiments.evaluation import judged_space
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import Model
from psitext.text.twofold import SentencesConfig
from psitext.train.network import parameter_count

# What a table says of a space, of all that a report does.
JUDGED = (
    "ppl_word", "ppl_token", "neg_elbo", "kl", "rec", "mi", "active_units", "token_accuracy", "kl_marginal",
)  # fmt: skip


class Bound(Config):
    """How many sentences are judged, and by how many draws."""

    sentences: int = Field(default=500, gt=1)
    draws: int = Field(default=100, gt=0)  # of each, K
    told: int = Field(default=10_000, gt=1)  # sentences of mutual information and active units


@dataclass(frozen=True, slots=True)
class Likely:
    """What a result line says."""

    metrics: dict[str, float]
    rows: dict[str, int]
    notes: dict[str, Any]


def likely(
    model: Model, name: str, how: Bound, data_dir: Path | None, folder: Path, limits: SentencesConfig | None = None
) -> Likely:
    """A model that writes, on the test text of the corpus ``name``; ``folder`` keeps the bounds that are done, and
    ``limits`` are those of ``judged_space``.
    """
    part = CorpusConfig(files=(f"corpus:{name}/test",), dir=None if data_dir is None else str(data_dir))
    found = judged_space(model, part, limits=limits, folder=folder, **how.tree())
    scores = found.record()
    return Likely(
        {name: scores[name] for name in JUDGED},
        {"test": found.sentences, "mi": found.mi_sentences},
        {"parameters": parameter_count(model.network), "k": found.k},
    )
