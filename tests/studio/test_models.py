"""What a model is good for: read from its settings, and the same as what the tabs can do with it."""

from __future__ import annotations

from pathlib import Path

import pytest

import racs
from psitext.errors import UserError
from psitext.model.mps.reading import circuit_of
from psitext.studio.models import CIRCUITS, MEASUREMENT, NEIGHBOURS, STATES, TABS, WRITING, Shelf, offer, offered

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


def test_law_what_no_tab_can_use_is_refused(models: dict[str, str]) -> None:
    with pytest.raises(UserError, match="no tab for it"):
        offered([models["language"]])
    with pytest.raises(UserError, match="name one of your own with --model"):
        offered([])
    with pytest.raises(UserError, match="there is no model at nowhere"):
        offered(["nowhere"])
    twice = offered([models["rac"], models["rac"]], [models["rac"], models["space"]])
    assert [offer.name for offer in twice.offers] == [models["rac"], models["space"]]
