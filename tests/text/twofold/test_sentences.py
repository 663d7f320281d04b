"""What is kept of a stream, in which form, and how the rest is counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psitext.errors import UserError
from psitext.text.twofold import Sentences, SentencesConfig, gather, sentences
from text.twofold.corpora import SENTENCES, reader, writer

streams = st.lists(
    st.one_of(
        st.sampled_from([*SENTENCES, "", "\u200d", None]), st.lists(st.sampled_from(["a", "crane"])).map(" ".join)
    )
)
CONFIG = SentencesConfig(max_words=6, max_tokens=12, max_len=10)


def row(found: Sentences, side: str, number: int) -> list[int]:
    rows = getattr(found, side)
    return rows.ids[rows.offsets[number] : rows.offsets[number + 1]].tolist()


def verdict(text: str, config: SentencesConfig) -> str:
    """The filter, one sentence at a time."""
    read, written = (tokenizer.encode([" ".join(text.split())])[0] for tokenizer in (reader(), writer()))
    if not text.split():
        return "empty"
    if len(text.split()) > config.max_words:
        return "many_words"
    if not len(read) or not len(written):
        return "empty"
    return "many_tokens" if len(read) + 2 > config.max_len or len(written) + 1 > config.max_tokens else "kept"


@given(stream=streams, block=st.sampled_from([1, 2, 1 << 14]))
def test_law_rows_and_counts_are_those_of_the_sentences_one_by_one(stream: list[str | None], block: int) -> None:
    verdicts = [(text, verdict(text, CONFIG)) for text in stream if text is not None]
    kept = [" ".join(text.split()) for text, which in verdicts if which == "kept"]
    if not kept:
        with pytest.raises(UserError, match="no sentence is left: 0 of"):
            gather(iter(stream), reader(), writer(), CONFIG)
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sentences, "BLOCK", block)
        found = gather(iter(stream), reader(), writer(), CONFIG)
    assert list(found.texts) == kept
    tally = Counter(which for _, which in verdicts)
    assert found.counts.read == len(verdicts)
    for name in ("kept", "empty", "many_words", "many_tokens"):
        assert getattr(found.counts, name) == tally[name], name
    for side in (found.read, found.written):
        assert side.ids.dtype == np.int32 and side.offsets.dtype == np.int64
        assert len(side.lengths) == len(kept) and side.offsets[-1] == len(side.ids)
    for number, text in enumerate(kept):
        assert row(found, "read", number) == [reader().cls, *reader().encode([text])[0], reader().sep]
        assert row(found, "written", number) == [writer().bos, *writer().encode([text])[0], writer().eos]


def test_known_counts_in_words() -> None:
    stream = [None, " the  wind\n", "the wind", "", " \t", "a " * 7, None, "\u200d", "unbelievable crane lake café"]
    found = gather(stream, reader(), writer(), CONFIG.model_copy(update={"max_len": 9}))
    assert found.texts == ("the wind", "the wind")
    assert found.counts.in_words == ("2 of 7 sentences (left out: 3 empty, 1 of too many words, 1 of too many tokens)")
    assert gather(["the wind"], reader(), writer(), CONFIG).counts.in_words == "1 of 1 sentences"


def test_known_the_limits_are_the_last_lengths_that_pass() -> None:
    text = "a crane flew over the lake"
    words, read, written = 6, len(reader().encode([text])[0]), len(writer().encode([text])[0])
    within = {"max_words": words, "max_len": read + 2, "max_tokens": written + 1}
    assert gather([text], reader(), writer(), SentencesConfig(**within)).texts == (text,)
    for name in within:
        with pytest.raises(UserError, match="no sentence is left: 0 of 1 sentences"):
            gather([text], reader(), writer(), SentencesConfig(**within | {name: within[name] - 1}))


@pytest.mark.parametrize("limit", [1, 3, 4, 99])
def test_law_a_limit_takes_the_first_and_counts_no_further(limit: int) -> None:
    three = [SENTENCES[at] for at in (3, 5, 6)]
    stream = ["", *three, "", "x " * 9, *three]
    whole = gather(stream, reader(), writer(), CONFIG)
    found = gather(iter(stream), reader(), writer(), CONFIG.model_copy(update={"limit": limit}))
    assert found.texts == whole.texts[:limit]
    assert found.counts.read == {1: 2, 3: 4, 4: 7, 99: 9}[limit]
    assert found.counts.empty == (1 if limit < 4 else 2)


def test_known_a_language_model_reads_one_pad() -> None:
    found = gather(SENTENCES[:3], None, writer(), SentencesConfig(max_len=3))
    assert found.read.ids.tolist() == [writer().pad] * 3 and found.read.offsets.tolist() == [0, 1, 2, 3]
    assert row(found, "written", 1) == [writer().bos, *writer().encode([SENTENCES[1]])[0], writer().eos]
