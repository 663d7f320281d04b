"""What the tests of hf share."""

from __future__ import annotations

from pathlib import Path

import pytest

import theirs as there
from psitext.text.tokenizer import Tokenizer


@pytest.fixture
def theirs(tmp_path: Path) -> there.Make:
    """Makes a checkpoint of transformers: its folder below tmp_path, and the model that was saved there."""

    def make(name: str = "theirs", **settings: object) -> tuple[Path, there.BertForPreTraining]:
        return tmp_path / name, there.save(tmp_path / name, **settings)

    return make


@pytest.fixture
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A WordPiece tokenizer over fifteen tokens."""
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("".join(f"{word}\n" for word in there.WORDS), encoding="utf-8")
    return Tokenizer.load(path)
