from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from psitext.config import build
from psitext.errors import UserError
from psitext.text.batches import Batch, plan
from psitext.text.pretraining.building import build_store
from psitext.text.pretraining.source import PretrainingConfig, PretrainingSource, divide, split
from psitext.text.tokenizer import train
from text.pretraining.corpora import VOCABULARY, store_of

RANDOM = np.random.default_rng(11)
STORE = store_of([RANDOM.integers(1, 30, RANDOM.integers(1, 25)).tolist() for _ in range(200)])
CONFIGS = st.builds(
    PretrainingConfig,
    max_len=st.sampled_from([16, 64, 128]),
    whole_word=st.booleans(),
    pairs=st.sampled_from(["nsp", "sop", "none"]),
    layout=st.sampled_from(["packed", "padded"]),
)


def source(**settings: Any) -> PretrainingSource:
    return PretrainingSource(STORE, VOCABULARY, PretrainingConfig(**settings), seed=5)


def restored(batch: Batch) -> torch.Tensor:
    """The rows with every hidden token put back."""
    rows = batch.ids.flatten().clone()
    rows[batch.targets["token_at"]] = batch.targets["token_label"]
    return rows


@given(CONFIGS, st.integers(0, 3), st.integers(0, 2**31))
def test_law_rows_hold_the_texts_of_the_store(config: PretrainingConfig, epoch: int, pick: int) -> None:
    made = PretrainingSource(STORE, VOCABULARY, config, seed=5)
    table = made.table(epoch)
    samples = np.random.default_rng(pick).choice(len(table), 24, replace=False)
    batch = made.build(samples, epoch)
    rows = restored(batch)
    assert (batch.lengths.numpy() == made.lengths(epoch)[samples]).all()
    assert batch.lengths.max() <= config.max_len
    for k, name in enumerate(samples):
        a = STORE.tokens[table.a_begin[name] :][: table.a_length[name]].tolist()
        b = STORE.tokens[table.b_begin[name] :][: table.b_length[name]].tolist()
        text = [VOCABULARY.cls, *a, VOCABULARY.sep, *b, *([VOCABULARY.sep] if b else [])]
        where = slice(int(batch.starts[k]), int(batch.starts[k] + batch.lengths[k]))
        assert rows[where].tolist() == text
        assert batch.segments.flatten()[where].tolist() == [0] * (len(a) + 2) + [1] * (len(text) - len(a) - 2)
        assert (batch.owner.flatten()[where] == k + 1).all()
        assert batch.targets["next"][k] == table.next[name]
    assert (rows[batch.owner.flatten() == 0] == VOCABULARY.pad).all()


@given(CONFIGS, st.integers(0, 3), st.integers(0, 2**31))
def test_law_a_sample_is_the_same_in_any_batch(config: PretrainingConfig, epoch: int, pick: int) -> None:
    made = PretrainingSource(STORE, VOCABULARY, config, seed=5)
    samples = np.random.default_rng(pick).choice(len(made.table(epoch)), 20, replace=False)
    whole = made.build(samples, epoch)
    for k in (0, 13):
        # Another source that has seen another epoch first, and only this sample.
        fresh = PretrainingSource(STORE, VOCABULARY, config, seed=5)
        fresh.table(epoch + 1)
        alone = fresh.build(samples[k : k + 1], epoch)
        where = slice(int(whole.starts[k]), int(whole.starts[k] + whole.lengths[k]))
        assert alone.ids.flatten()[: alone.lengths[0]].tolist() == whole.ids.flatten()[where].tolist()
        mine = whole.owner.flatten()[whole.targets["token_at"]] == k + 1
        assert (whole.targets["token_at"][mine] - whole.starts[k]).tolist() == alone.targets["token_at"].tolist()
        assert whole.targets["token_label"][mine].tolist() == alone.targets["token_label"].tolist()
        assert whole.targets["next"][k] == alone.targets["next"][0]


def test_law_every_sequence_predicts_and_no_special_is_hidden() -> None:
    made = source()
    for samples in plan(made.lengths(0), seed=0, epoch=0, sequences=50):
        batch = made.build(samples, 0)
        owners = batch.owner.flatten()[batch.targets["token_at"]]
        assert len(torch.unique(owners)) == len(samples)
        assert not np.isin(batch.targets["token_label"], VOCABULARY.special).any()


def test_law_an_epoch_holds_every_token_of_the_text_once() -> None:
    for pairs in ("nsp", "sop", "none"):
        report = source(pairs=pairs).report(2)
        assert report.text_tokens == STORE.meta.tokens
        assert report.follows + report.other + report.single == report.samples
        assert report.tokens == report.text_tokens + report.drawn_tokens + 3 * report.samples - report.single


def test_law_epochs_differ_and_the_kept_tables_stay_few() -> None:
    made = source()
    tables = [made.table(epoch) for epoch in range(5)]
    assert not np.array_equal(tables[0].a_begin, tables[1].a_begin)
    assert made.table(4) is tables[4]
    assert np.array_equal(made.table(0).b_begin, tables[0].b_begin)
    assert len(made._epochs) <= 2


@given(st.integers(1, 3000), st.floats(0, 0.99), st.integers(0, 2**40))
def test_law_the_held_out_documents_are_disjoint(documents: int, share: float, seed: int) -> None:
    sizes = 1 + np.arange(documents) * 7 % 50
    held_out, kept = divide(sizes, share, seed)
    assert np.array_equal(np.sort(np.concatenate([held_out, kept])), np.arange(documents))
    assert len(kept) >= 1
    if share == 0:
        assert len(held_out) == 0
    elif documents > 3:
        assert len(held_out) >= 2
        assert abs(len(held_out) - share * documents) <= 2
    assert np.array_equal(divide(sizes, share, seed)[0], held_out)


@given(st.integers(0, 2**40))
def test_law_few_large_documents_are_held_out_in_their_share(seed: int) -> None:
    sizes = np.r_[np.full(9_900, 20), np.full(100, 100_000)]  # single sentences and books
    held_out, _ = divide(sizes, 0.02, seed)
    assert len(held_out) == 200
    assert (sizes[held_out] == 100_000).sum() == 2
    assert not np.array_equal(held_out, divide(sizes, 0.02, seed + 1)[0])


def test_law_validation_shares_no_text_with_training_nor_depends_on_its_seed() -> None:
    config = PretrainingConfig(held_out=0.1)
    train, validation = split(STORE, VOCABULARY, config, seed=1)
    other_train, other_validation = split(STORE, VOCABULARY, config, seed=2)
    assert validation is not None
    assert other_validation is not None
    assert np.intersect1d(train.corpus.firsts, validation.corpus.firsts).size == 0
    assert len(train.corpus) + len(validation.corpus) == STORE.meta.sentences
    assert train.report(0).text_tokens + validation.report(0).text_tokens == STORE.meta.tokens
    assert not np.array_equal(train.table(0).a_begin, other_train.table(0).a_begin)
    pick = np.arange(10)
    assert torch.equal(validation.build(pick, 0).ids, other_validation.build(pick, 0).ids)
    assert split(STORE, VOCABULARY, PretrainingConfig(held_out=0))[1] is None
    assert split(store_of([[3, 4, 5]]), VOCABULARY, config)[1] is None


def test_known_report_of_a_corpus_that_can_be_counted() -> None:
    store = store_of([[20, 20], [200]])
    made = PretrainingSource(store, VOCABULARY, PretrainingConfig(max_len=64, pairs="sop", short=0))
    report = asdict(made.report(0))
    assert report.pop("row_use") == pytest.approx(48.6 / 64, abs=0.2)
    follows = report.pop("follows")
    assert follows + report.pop("other") == 1
    assert report == {
        "epoch": 0,
        "samples": 5,
        "single": 4,  # 200 tokens in windows of 50
        "windows": 4,
        "truncated": 0,
        "tokens": 240 + 3 + 4 * 2,
        "text_tokens": 240,
        "drawn_tokens": 0,
        "mean_length": 251 / 5,
        "dropped_sentences": 0,
        "dropped_documents": 0,
    }


def test_known_packed_rows_waste_little() -> None:
    packed, padded = source().report(0), source(layout="padded").report(0)
    assert packed.row_use > padded.row_use + 0.05


@pytest.mark.parametrize("wrong", [{"mask": 0}, {"pairs": "nps"}, {"max_len": 4}, {"held_out": 1.0}, {"shrt": 1}])
def test_known_wrong_settings_are_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        build(PretrainingConfig, wrong, "recipe.toml")


def test_smoke_from_a_file_to_a_batch(tmp_path: Path) -> None:
    nouns = "cat dog bird fox owl hen".split()
    documents = [[f"The {one} saw the {other}." for one in nouns if one != other] for other in nouns]
    text = tmp_path / "text.txt"
    text.write_text("\n\n".join("\n".join(document) for document in documents))
    tokenizer = train("wordpiece", [text.read_text()], 100)
    store = build_store([text], tokenizer, tmp_path / "store")
    assert (store.meta.documents, store.meta.sentences) == (6, 30)
    config = PretrainingConfig(max_len=32, held_out=0.4)
    made, validation = split(store, tokenizer, config)
    assert validation is not None
    assert (validation.corpus.firsts.size, made.corpus.firsts.size) == (2, 4)
    table = made.table(0)
    batch = made.build(np.flatnonzero(table.next == 0), 0)
    decoded = tokenizer.decode(restored(batch)[: int(batch.lengths[0])].tolist())
    words = " ".join(" ".join(document) for document in documents).lower()
    assert decoded in words  # A and B as they stand in the text, one after the other
