"""The law of words against counting by hand, and metrics of places against words laid out one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.testing import assert_close

import racs
from psitext.errors import UserError
from psitext.explain.law import WordLaw, counted, place_roots, same_everywhere
from psitext.text.examples import Example
from psitext.text.supervised import TextConfig, encode_examples
from psitext.text.tokenizer import train as train_tokenizer


def law_of(texts: list[str], **text: object) -> tuple[WordLaw, list[str]]:
    tokenizer = train_tokenizer("words", racs.TEXTS, 64)
    examples = [Example(text=one) for one in texts]
    source = encode_examples(examples, racs.task(), tokenizer, TextConfig(**text), labelled=False)
    return counted(source), tokenizer.tokens(range(tokenizer.vocab_size))


def test_known_words_are_counted_as_they_are_read() -> None:
    law, names = law_of(["a fine zebra a", "", "odd"], unknown="drop")
    counts = {name: int(count) for name, count in zip(names, law.words, strict=True) if count}
    assert counts == {"a": 2, "fine": 1, "odd": 1}
    assert law.lengths.tolist() == [1, 1, 0, 1]
    assert law.typical == 1
    law, names = law_of(["a fine zebra a"], unknown="keep")
    assert law.words[names.index("[UNK]")] == 1 and law.lengths.tolist() == [0, 0, 0, 0, 1]
    law, _ = law_of([" ".join(["odd"] * 30), "fine"], max_len=8)
    assert law.lengths.tolist() == [0, 1, 0, 0, 0, 0, 1] and int(law.words.sum()) == 7


def test_known_the_mean_word() -> None:
    law, names = law_of(["a fine a"])
    vectors = torch.randn(len(names), 3)
    expected = (2 * vectors[names.index("a")] + vectors[names.index("fine")]) / 3
    assert_close(law.mean_word(vectors), expected.double(), rtol=0, atol=1e-6)


@pytest.mark.parametrize("places", [1, 4, 10])
def test_parity_of_the_filled_shares_with_texts_laid_out(places: int) -> None:
    law, _ = law_of(racs.TEXTS)
    lengths = [len(text.split()) for text in racs.TEXTS]
    filled = [[place < places - length for place in range(places)] for length in lengths]
    assert_close(law.filled(places), torch.from_numpy(np.mean(filled, axis=0)), rtol=0, atol=1e-15)


def test_parity_of_the_metric_of_each_place_with_its_definition() -> None:
    law, names = law_of(racs.TEXTS)
    vectors, filler = torch.randn(len(names), 3, dtype=torch.float64), torch.randn(3, dtype=torch.float64)
    wide = torch.cat([vectors, torch.ones(len(names), 1, dtype=torch.float64)], dim=1)
    probs = law.words.double() / law.words.sum()
    ahead = torch.cat([filler, torch.ones(1, dtype=torch.float64)])
    roots = place_roots(law, vectors, filler, 7)
    assert len(roots) == 7 and not same_everywhere(roots)
    for root, share in zip(roots, law.filled(7), strict=True):
        expected = (1 - share) * (wide.mT * probs) @ wide + share * torch.outer(ahead, ahead)
        assert_close(root @ root.mT, expected, rtol=1e-12, atol=1e-13)
    alike = place_roots(law, vectors, None, 7)
    assert same_everywhere(alike)
    assert_close(alike[0] @ alike[0].mT, (wide.mT * probs) @ wide, rtol=1e-12, atol=1e-13)


def test_law_no_word_is_no_law() -> None:
    with pytest.raises(UserError, match="these texts hold no word that the model knows, so there is no law of words"):
        law_of(["zebra", ""], unknown="drop")
