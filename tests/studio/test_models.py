"""What a model is good for: read from its settings, and the same as what the tabs can do with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import racs
from psitext.errors import UserError
from psitext.files import sha256
from psitext.model import folder
from psitext.model.mps.reading import circuit_of
from psitext.studio.models import CIRCUITS, MEASUREMENT, NEIGHBOURS, STATES, TABS, WRITING, Shelf, offer, offered
from psitext.train import checkpoint

READS = {STATES, NEIGHBOURS}


@pytest.mark.parametrize(
    ("name", "tabs"),
    [
        ("measured", READS | {MEASUREMENT}),
        ("circuit-head", READS | {MEASUREMENT}),
        ("rac", READS | {CIRCUITS}),
        ("space", READS | {WRITING}),
        ("language", set()),
    ],
)
def test_known_tabs_of_models(models: dict[str, str], name: str, tabs: set[str]) -> None:
    assert offer(models[name]).tabs == tabs


@pytest.mark.parametrize("changes", [{"layers": 2}, {"classes": 1}])
def test_law_what_a_circuit_cannot_do_is_not_offered(changes: dict[str, int], tmp_path: Path) -> None:
    found = racs.model(**changes)
    folder = found.save(tmp_path / "other")
    assert offer(str(folder)).tabs == READS
    if "layers" in changes:
        with pytest.raises(UserError, match="2 layers"):
            circuit_of(found)


def test_known_a_checkpoint_of_others_reads(minilm: Path) -> None:
    assert offer(f"hf:{minilm}").tabs == READS


def test_law_models_are_loaded_once_and_only_where_they_fit(shelf: Shelf, models: dict[str, str]) -> None:
    assert shelf.model(models["rac"], CIRCUITS) is shelf.model(models["rac"], STATES)
    assert shelf.names(MEASUREMENT) == [models["measured"], models["circuit-head"]]
    assert shelf.names(STATES) == shelf.names(NEIGHBOURS) == [offer.name for offer in shelf.offers]
    assert {tab for offer in shelf.offers for tab in offer.tabs} == set(TABS)
    for name in (None, "", "rac", models["space"]):
        with pytest.raises(UserError, match="no model called"):
            shelf.model(name, CIRCUITS)


def test_known_neighbours_are_compared_by_token_means_where_nothing_trained_the_vector(
    minilm: Path, models: dict[str, str]
) -> None:
    found = offered([f"hf:{minilm}", models["measured"], models["space"]], ["bert-tiny", "qbert-tiny"])
    pools = {}
    for name in ("bert-tiny", "qbert-tiny"):
        own, compared = found.model(name, STATES), found.model(name, NEIGHBOURS)
        assert compared is found.model(name, NEIGHBOURS) and compared is not own
        pools[name] = own.encoder.config.pool, compared.encoder.config.pool
    assert pools == {"bert-tiny": ("pooled", "mean"), "qbert-tiny": ("cls", "mean")}
    for name in (models["measured"], models["space"]):
        assert found.model(name, STATES) is found.model(name, NEIGHBOURS)
    stated = found.model(f"hf:{minilm}", NEIGHBOURS)
    assert stated.encoder.config.pool == "mean" and stated is found.model(f"hf:{minilm}", STATES)


def test_known_a_space_says_what_it_has_read(models: dict[str, str]) -> None:
    found = offered([models["space"]], ["optimus-tiny", "bert-tiny"])
    (said,) = found.read(WRITING)
    assert said.startswith("optimus-tiny has read 112 public-domain books and generated stories;")


def test_law_what_no_tab_can_use_is_refused(models: dict[str, str]) -> None:
    with pytest.raises(UserError, match="no tab for it"):
        offered([models["language"]])
    with pytest.raises(UserError, match="name one of your own with --model"):
        offered([])
    with pytest.raises(UserError, match="there is no model at nowhere"):
        offered(["nowhere"])
    twice = offered([models["rac"], models["rac"]], [models["rac"], models["space"]])
    assert [offer.name for offer in twice.offers] == [models["rac"], models["space"]]


@pytest.mark.parametrize(
    ("table", "key", "value"),
    [("encoder", "layers", "two"), ("encoder", "family", "vector"), ("head", "settings", {"kind": "guess"})],
)
def test_law_settings_that_somebody_changed_are_refused_before_a_model_is_offered(
    table: str, key: str, value: object, tmp_path: Path
) -> None:
    path = racs.model().save(tmp_path / "changed")
    tree = json.loads((path / folder.CONFIG).read_text(encoding="utf-8"))
    tree[table][key] = value
    (path / folder.CONFIG).write_text(json.dumps(tree), encoding="utf-8")
    sums = json.loads((path / checkpoint.CHECKSUMS).read_text(encoding="utf-8"))
    sums[folder.CONFIG] = sha256(path / folder.CONFIG)
    (path / checkpoint.CHECKSUMS).write_text(json.dumps(sums), encoding="utf-8")
    with pytest.raises(UserError):
        offer(str(path))
