"""Sentences with a label from a space that never saw one: fitted, written, kept in a folder, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import tellers
from psitext.errors import UserError
from psitext.experiments import control
from psitext.experiments.control import Control
from psitext.heads.decoding import Writing
from psitext.text.examples import Example
from psitext.train.adversarial import GanConfig

SMALL = GanConfig(noise=4, width=32, steps=200, batch=64, lr=3e-3, average=0.9, posterior="means", clarity=1.0)
EXAMPLES = [Example(text, label=who) for text in tellers.SENTENCES for who in tellers.WHO if text.startswith(who)]


@pytest.fixture(scope="module")
def fitted() -> Control:
    return control.fit(tellers.space(), EXAMPLES, tellers.WHO, SMALL)


def test_known_a_label_that_is_asked_for_is_written(fitted: Control) -> None:
    for who in tellers.WHO:
        written = fitted.write(who, 20)
        assert sum(text.startswith(who) for text in written) > 16, written
    assert fitted.facts["sentences"] == dict.fromkeys(tellers.WHO, 3)


def test_law_the_space_stays_as_it_is_and_calls_repeat(fitted: Control) -> None:
    model = tellers.space()
    before = {name: value.clone() for name, value in model.network.state_dict().items()}
    again = control.fit(model, EXAMPLES, tellers.WHO, SMALL.model_copy(update={"steps": 3}))
    assert all(torch.equal(value, before[name]) for name, value in model.network.state_dict().items())
    assert fitted.write("the dog", 3) == fitted.write("the dog", 6)[:3]
    assert len(set(fitted.write("the dog", 3, scale=0.0))) == 1
    assert again.write("the dog", 2, Writing(max_len=3)) == again.write("the dog", 2, Writing(max_len=3))


def test_law_a_folder_gives_it_back(fitted: Control, tmp_path: Path) -> None:
    tellers.space().save(tmp_path / "space")
    control.save(fitted, tmp_path / "runs" / "mood", tmp_path / "space")
    found = control.load(tmp_path / "runs" / "mood")
    assert (found.labels, found.settings, found.likeness) == (fitted.labels, fitted.settings, fitted.likeness)
    assert found.write("a girl", 4, seed=3) == fitted.write("a girl", 4, seed=3)
    control.save(found, tmp_path / "runs" / "mood", tmp_path / "space")  # an older one is replaced
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    assert control.load(tmp_path / "elsewhere" / "mood").labels == fitted.labels  # the way to the model is relative
    (tmp_path / "space").rename(tmp_path / "moved")
    with pytest.raises(UserError, match=r"is not at .*space any more; name it with --space"):
        control.load(tmp_path / "elsewhere" / "mood")
    assert control.load(tmp_path / "elsewhere" / "mood", str(tmp_path / "moved")).labels == fitted.labels
    kept = sorted(path.name for path in (tmp_path / "elsewhere" / "mood").iterdir())
    assert kept == ["checksums.json", "control.json", "generator.safetensors"]
    assert str(tmp_path) not in (tmp_path / "elsewhere" / "mood" / "control.json").read_text()


def test_known_bad_folders(fitted: Control, tmp_path: Path) -> None:
    tellers.space().save(tmp_path / "space")
    place = tmp_path / "mood"
    with pytest.raises(UserError, match="holds no labels to write by: there is no such folder"):
        control.load(place)
    with pytest.raises(UserError, match="something else than a control"):
        control.save(fitted, tmp_path / "space", tmp_path / "space")
    control.save(fitted, place, tmp_path / "space")
    other = tellers.space()
    with torch.no_grad():
        weight = next(other.network.parameters())
        kept = weight.clone()
        weight.add_(0.25)
    try:
        other.save(tmp_path / "other")
    finally:
        with torch.no_grad():
            weight.copy_(kept)
    with pytest.raises(UserError, match=r"is not the model that .*mood was made for"):
        control.load(place, str(tmp_path / "other"))
    with pytest.raises(UserError, match=r"it has no control\.json"):
        control.load(tmp_path / "space")
    tree = json.loads((place / "control.json").read_text())
    (place / "control.json").write_text(json.dumps({**tree, "labels": ["x", "y"]}))
    with pytest.raises(UserError, match=r"control\.json is damaged"):
        control.load(place)
    (place / "checksums.json").unlink()
    with pytest.raises(UserError, match="is damaged"):
        control.load(place)


def test_known_bad_input(fitted: Control) -> None:
    with pytest.raises(UserError, match="never saw a label 'a grl'; did you mean 'a girl'"):
        fitted.write("a grl")
    with pytest.raises(UserError, match="'wolf'; it knows: a girl, one boy, two men, the dog"):
        fitted.write("wolf")
    with pytest.raises(UserError, match="at least 1, not 0"):
        fitted.write("a girl", 0)
    with pytest.raises(UserError, match="scale is 0 or above"):
        fitted.write("a girl", scale=-1.0)
    with pytest.raises(UserError, match="has the label 'a girl', which is none of: one boy, the dog"):
        control.fit(tellers.space(), EXAMPLES, ("one boy", "the dog"), SMALL)
    with pytest.raises(UserError, match="two sentences at least, and 'wolf' has fewer"):
        control.fit(tellers.space(), EXAMPLES, (*tellers.WHO, "wolf"), SMALL)
    with pytest.raises(UserError, match="no sentence to learn"):
        control.fit(tellers.space(), [Example(" ", label="a girl")], tellers.WHO, SMALL)
    with pytest.raises(UserError, match="language model without a latent"):
        control.fit(tellers.language_model(), EXAMPLES, tellers.WHO, SMALL)


def test_known_words_where_latents_are_few(fitted: Control) -> None:
    poor = tuple(replace(like, spread=0.1) for like in fitted.likeness)
    assert "knows few latents of 'a girl'" in replace(fitted, likeness=poor).warnings()[0]
