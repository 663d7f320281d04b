"""Text of a style, shared out by documents, and its judges."""

from __future__ import annotations

from pathlib import Path

import pytest

import talks
from psitext.errors import UserError
from psitext.experiments.dialog.styling import judges, shared_out
from psitext.experiments.runs.recipes import CorpusConfig
from psitext.model import TEXT, Model, Sentences
from psitext.text.supervised import TextConfig
from psitext.text.tokenizer import train as train_tokenizer
from psitext.train.network import Network


def corpus(folder: Path, sizes: list[int]) -> CorpusConfig:
    """Documents of so many sentences."""
    documents = [
        "\n".join(f"This is sentence {at} of document {number}." for at in range(size))
        for number, size in enumerate(sizes)
    ]
    (folder / "text.txt").write_text("\n\n".join(documents), encoding="utf-8")
    return CorpusConfig(files=("text.txt",), dir=str(folder))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.8, 1.0])
def test_law_documents_are_shared_out_whole(tmp_path: Path, share: float) -> None:
    part = corpus(tmp_path, [7, 30, 12, 5, 21, 9, 16])
    first, second = shared_out([part], share)
    assert len(first) + len(second) == 100
    assert len(first) == pytest.approx(100 * share, abs=8)
    documents = [{one.rsplit(" ", 1)[1] for one in some} for some in (first, second)]
    assert not documents[0] & documents[1], "no document is on both sides"
    assert shared_out([part], share) == (first, second)


def test_law_a_text_without_documents_is_cut_into_blocks(tmp_path: Path) -> None:
    first, second = shared_out([corpus(tmp_path, [1_000])], 0.4)
    assert (len(first), len(second)) == (400, 600)
    assert not set(first) & set(second)


STYLE = [f"Pray , my dear Watson , observe the {one} of this {two} ." for one in "abcdefghij" for two in "klmnop"]
OTHER = [f"The {one} was quite good and we had {two} ." for one in "abcdefghij" for two in "klmnop"]


def model() -> Model:
    """An untrained encoder: its states still tell such texts apart."""
    tokenizer = train_tokenizer("words", STYLE + OTHER, 80)
    trunk = talks.encoder().trunk
    assert tokenizer.vocab_size <= trunk.config.vocab_size + 80
    encoder = type(trunk)(trunk.config.model_copy(update={"vocab_size": tokenizer.vocab_size}))
    return Model(Network(encoder, Sentences()).eval(), {TEXT: tokenizer}, TextConfig(max_len=talks.PLACES))


def test_law_judges_tell_a_style_from_what_it_is_not() -> None:
    found = judges(STYLE, [OTHER, [one.upper() for one in OTHER]], model())
    assert found.rows == {"judges train": 96, "judges test": 24}
    assert found.accuracy["ngram accuracy"] > 0.95 and found.accuracy["neural accuracy"] > 0.8
    low, high = (found.intensity(texts) for texts in (OTHER[:20], STYLE[:20]))
    assert low.keys() == {"ngram", "neural"}
    for name in low:
        assert 0 <= low[name] < 0.5 < high[name] <= 1
    mixed = found.intensity([*OTHER[:20], *STYLE[:20]])
    assert mixed["ngram"] == pytest.approx((low["ngram"] + high["ngram"]) / 2), "a mean over texts"


def test_law_no_text_is_trained_on_and_tested_on() -> None:
    once = judges(STYLE, [OTHER], None, limit=20)
    assert once.rows == {"judges train": 32, "judges test": 8}
    assert once.intensity(STYLE).keys() == {"ngram"}
    assert judges(STYLE * 5, [OTHER * 3], None).rows == {"judges train": 96, "judges test": 24}, "copies count once"


def test_known_mistakes() -> None:
    with pytest.raises(UserError, match="what it is not"):
        judges(STYLE, [], None)
    with pytest.raises(UserError, match="ten sentences of each text at least, and one has 5"):
        judges(STYLE, [OTHER[:5]], None)
