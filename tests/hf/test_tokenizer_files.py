"""Tokenizers as transformers reads them: the same ids for the same text."""

from __future__ import annotations

from pathlib import Path

import pytest
import transformers

import tiny
from psitext.hf.bert import write_bert
from psitext.text.tokenizer import Tokenizer
from psitext.text.tokenizer import train as train_tokenizer
from theirs import WORDS

TEXTS = [
    "a crane is flying",
    "a crane driver came",
    "The 2nd bank's interest (4.5 %) wasn't what I'd hoped for!",
    "北京の銀行 café",
    "no",
]


@pytest.mark.parametrize("kind", ["vocab.txt", "wordpiece", "bpe", "words"])
def test_parity_tokenizers_are_read_by_transformers(tmp_path: Path, tokenizer: Tokenizer, kind: str) -> None:
    ours = tokenizer if kind == "vocab.txt" else train_tokenizer(kind, TEXTS * 3, 400)  # type: ignore[arg-type]
    write_bert(tmp_path / "out", tiny.bert(vocab_size=400), tokenizer=ours)
    there = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    for text in [*TEXTS, "the dogs saw a cat .", "ﬁne  ＡＢＣ\tが"]:
        first, second = (ids.tolist() for ids in ours.encode([text, "a dog"]))
        assert there(text)["input_ids"] == [ours.cls, *first, ours.sep]
        pair = there(text, "a dog")
        assert pair["input_ids"] == [ours.cls, *first, ours.sep, *second, ours.sep]
        assert pair["token_type_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)
    assert [there.pad_token_id, there.mask_token_id, there.unk_token_id] == [ours.pad, ours.mask, ours.unk]
    assert there.model_max_length == 16
    assert (tmp_path / "out" / "vocab.txt").exists() == (kind in ("vocab.txt", "wordpiece"))
    if kind == "vocab.txt":
        assert (tmp_path / "out" / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1] == WORDS
