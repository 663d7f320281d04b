"""What a run of responses starts from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import talks
import tellers
from psitext.encoders.vae import Vae
from psitext.errors import UserError
from psitext.experiments.dialog.start import halves
from psitext.model import load
from psitext.train.checkpoint import tensors_of


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talks.written(tmp_path_factory.mktemp("start"))


def test_law_contexts_are_read_as_the_space_reads_sentences(place: Path) -> None:
    given = halves(talks.recipe(place))
    own = load(place / "space").encoder
    for one in (given.sentences, given.contexts):
        assert all(torch.equal(value, tensors_of(own)[name]) for name, value in tensors_of(one).items())
    shared = {id(value) for value in given.sentences.parameters()} & {id(v) for v in given.contexts.parameters()}
    assert not shared, "a copy, not the same"


def test_law_a_fresh_start_has_shapes_and_tokenizers_alone(place: Path) -> None:
    changes: dict[str, Any] = {"fresh": True, "train": {"seed": 5}}
    given, fresh = halves(talks.recipe(place)), halves(talks.recipe(place, **changes))
    assert fresh.sentences.config == given.sentences.config and fresh.decoder.config == given.decoder.config
    assert fresh.reader.fingerprint == given.reader.fingerprint and fresh.writer == given.writer
    for one, other in ((given.sentences, fresh.sentences), (given.decoder, fresh.decoder)):
        theirs = tensors_of(other)
        moved = [name for name, value in tensors_of(one).items() if value.ndim > 1 and (value - value.mean()).any()]
        assert moved and not any(torch.equal(tensors_of(one)[name], theirs[name]) for name in moved)
    again = halves(talks.recipe(place, **changes))
    assert all(torch.equal(value, tensors_of(again.decoder)[name]) for name, value in tensors_of(fresh.decoder).items())


def test_law_an_encoder_of_one_segment_gets_another(place: Path, tmp_path: Path) -> None:
    talks.space(segments=1).save(tmp_path / "one")
    given = halves(talks.recipe(place, init=str(tmp_path / "one")))
    assert given.sentences.trunk.segment.weight.shape[0] == 1
    assert given.contexts.trunk.segment.weight.shape[0] == 2
    assert torch.equal(given.contexts.trunk.token.weight, given.sentences.trunk.token.weight)


def test_law_frozen_layers_are_those_of_both(place: Path) -> None:
    given = halves(talks.recipe(place, freeze_layers=1))
    for one in (given.sentences, given.contexts):
        assert isinstance(one, Vae)
        assert not one.trunk.token.weight.requires_grad and one.posterior.weight.requires_grad


def test_known_mistakes(place: Path, tmp_path: Path) -> None:
    for changes, why in (
        ({"init": None}, "start from a sentence space"),
        ({"dialogs": {"context_len": 30}}, "contexts of 30 tokens do not fit 24 positions; set dialogs.context_len"),
        ({"dialogs": {"max_tokens": 24}}, "responses that are written of 25 tokens do not fit 24 positions"),
        ({"freeze_layers": 3}, "freeze_layers is 3, and the encoder has 2"),
    ):
        with pytest.raises(UserError, match=why):
            halves(talks.recipe(place, **changes))
    tellers.space().save(tmp_path / "lstm")
    with pytest.raises(UserError, match="reads with a lstm-vae; contexts take a BERT"):
        halves(talks.recipe(place, init=str(tmp_path / "lstm")))
