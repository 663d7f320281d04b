"""Words in time: which vectors are looked up, and what fills a short text."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

import tiny
from psitext.encoders.words import Words, WordsConfig, principal

SHAPE = WordsConfig(vocab_size=tiny.VOCAB, features=3, max_len=8)
LENGTHS = [8, 5, 2]


@pytest.mark.parametrize("row", [None, 20])
def test_known_words_without_marks(row: int | None) -> None:
    batch = tiny.batch(LENGTHS, row=row)
    words = Words(SHAPE)
    x, count = words(batch)
    assert x.shape == (6, 3, 3)
    assert count is not None and count.tolist() == [6, 3, 0]
    rows, _ = batch.sequences(batch.ids)
    assert_close(x[:, 0], words.token(rows[0, 1:7]))
    assert_close(x[:3, 1], words.token(rows[1, 1:4]))


def test_known_fillers_stand_in_front() -> None:
    batch = tiny.batch(LENGTHS)
    rows, _ = batch.sequences(batch.ids)
    zero, word = (Words(SHAPE.model_copy(update={"pad": pad})) for pad in ("zero", "word"))
    for words, filler in ((zero, torch.zeros(3)), (word, word.filler)):
        x, count = words(batch)
        assert count is None and x.shape == (6, 3, 3)
        assert_close(x[:3, 1], filler.expand(3, 3))
        assert_close(x[3:, 1], words.token(rows[1, 1:4]))
        assert_close(x[:, 2], filler.expand(6, 3))


def test_law_frozen_words_get_no_gradient() -> None:
    frozen = Words(SHAPE.model_copy(update={"words": "frozen", "pad": "word"}))
    assert [p for p in frozen.parameters() if p.requires_grad] == []


@pytest.mark.parametrize("spread", [0.05, 0.002])
def test_known_how_far_new_vectors_lie_from_zero(spread: float) -> None:
    words = Words(SHAPE.model_copy(update={"spread": spread, "pad": "word"}))
    assert 0.8 * spread < words.token.weight.abs().max() <= spread
    assert words.filler is not None and words.filler.abs().max() <= spread


def lent(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Vectors of other sizes along every axis, and how often their words occur; some never."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(40, 6, generator=generator) * torch.tensor([3.0, 0.1, 1.0, 2.0, 0.5, 0.2]) + 5
    return vectors, torch.randint(0, 4, (40,), generator=generator)


def test_parity_principal_features_are_those_of_the_words_written_out() -> None:
    vectors, counts = lent()
    found = principal(vectors, counts, 3)
    written = vectors.double().repeat_interleave(counts, dim=0)
    centre = written.mean(0)
    _, _, directions = torch.linalg.svd(written - centre, full_matrices=False)
    wanted = (vectors.double() - centre) @ directions[:3].T
    scale = (wanted.repeat_interleave(counts, dim=0).square().mean()).sqrt()
    assert found.dtype == torch.float32
    assert_close(found.double().abs(), wanted.abs() / scale, rtol=1e-5, atol=1e-5)


def test_law_all_principal_features_keep_how_words_lie_to_each_other() -> None:
    vectors, counts = lent()
    found = principal(vectors, counts, 6)
    exact = "donot_use_mm_for_euclid_dist"  # the usual way makes of a distance of 0 what rounding leaves
    near, far = (torch.cdist(one, one, compute_mode=exact) for one in (found, vectors))
    assert_close(near / near.max(), far / far.max(), rtol=1e-4, atol=1e-4)
    assert_close(principal(10 * vectors - 3, counts, 6), found, rtol=1e-4, atol=1e-4)


def test_known_principal_features_have_a_size_and_an_order() -> None:
    vectors, counts = lent()
    found, share = principal(vectors, counts, 4).double(), counts.double()[:, None] / counts.sum()
    size = (share * found.square()).sum(0)
    assert float(size.mean()) == pytest.approx(1, rel=1e-5)
    assert size.tolist() == sorted(size.tolist(), reverse=True)
    assert_close((share * found).sum(0), torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-5)
    alike = principal(torch.ones(40, 6), counts, 2)
    assert not alike.any()
    with pytest.raises(ValueError, match="7 directions"):
        principal(vectors, counts, 7)
