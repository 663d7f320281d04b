"""What psitext is measured against: the same model in transformers' hands, fed by its own collators.

The rows that a collator gets are what a user of transformers has after tokenising once: a `datasets` table, or lists
where that library is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opponent:
    """A model of transformers with its tokenised rows and its collator."""

    model: nn.Module
    body: nn.Module  # the part without a head
    rows: Any
    collate: Callable[[list[Row]], Mapping[str, Any]]

    def build(self, samples: npt.NDArray[np.int64]) -> dict[str, Tensor]:
        """The batch of these rows, fetched as torch's DataLoader does."""
        return dict(self.collate(self.rows.__getitems__(samples.tolist())))


class Rows(list[Row]):
    """Rows in memory, fetched several at a time as from a `datasets` table."""

    def __getitems__(self, indices: list[int]) -> list[Row]:
        """The rows of these numbers."""
        return [self[index] for index in indices]


def pretrainer(folder: Path, rows: Sequence[Row], mask: float) -> Opponent:
    """BertForPreTraining from a folder, with dynamic masking and dynamic padding.

    A row has ``input_ids``, ``token_type_ids``, ``attention_mask``, ``special_tokens_mask`` (which spares the
    collator a loop) and ``next_sentence_label`` (-100 = none).
    """
    from transformers import AutoTokenizer, BertForPreTraining, DataCollatorForLanguageModeling

    _quiet()
    model = BertForPreTraining.from_pretrained(folder)
    collate = DataCollatorForLanguageModeling(AutoTokenizer.from_pretrained(folder), mlm_probability=mask)
    return Opponent(model, model.bert, _table(rows), collate)


def classifier(folder: Path, rows: Sequence[Row]) -> Opponent:
    """BertForSequenceClassification from a folder, with dynamic padding. A row's class is its ``label``."""
    from transformers import AutoTokenizer, BertForSequenceClassification, DataCollatorWithPadding

    _quiet()
    model = BertForSequenceClassification.from_pretrained(folder)
    collate = DataCollatorWithPadding(AutoTokenizer.from_pretrained(folder))
    return Opponent(model, model.bert, _table(rows), collate)


def sentence_encoder(folder: Path, pool: str) -> Callable[[list[str]], npt.NDArray[Any]]:
    """sentence-transformers' ``encode`` of the BERT in a folder, by the "mean" token or "cls", in its usual batches
    of 32 sorted by length, on the CPU.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    _quiet()
    reads = Transformer(str(folder))
    model = SentenceTransformer(modules=[reads, Pooling(reads.get_embedding_dimension(), pool)], device="cpu")

    def encode(texts: list[str]) -> npt.NDArray[Any]:
        return np.asarray(model.encode(texts, show_progress_bar=False))

    return encode


def _table(rows: Sequence[Row]) -> Any:
    if find_spec("datasets") is None:
        return Rows(rows)
    from datasets import Dataset

    return Dataset.from_list(list(rows))


def _quiet() -> None:
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
