"""docs/recipes.md has every key of a recipe with its default, and the presets with their sizes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic_core import PydanticUndefined

from docs_blocks import ROOT
from psitext.assemble import DECODERS, ENCODERS, HEADS, build_encoder, build_pretraining_head
from psitext.config import Config, configs_in
from psitext.experiments.runs.recipes import VERBS, AutoencodeRecipe, PretrainRecipe, TokenizerConfig, resolve_recipe
from psitext.model.settings import UseConfig
from psitext.train.network import Network, parameter_count

REQUIRED = object()


def keys(config: type[Config], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every dotted key that a config takes, down to the leaves, with the default that it has there.

    Where configs of several kinds may stand, only the key that names the kind: each kind has a table of its own.
    """
    for name, field in config.model_fields.items():
        inner = configs_in(field.annotation)
        if len(inner) > 1:
            kind = next(iter(inner[0].model_fields))
            assert field.default is None or type(field.default) is inner[0]
            yield f"{prefix}{name}.{kind}", getattr(inner[0](), kind) if kind == "family" else None
        elif inner:
            yield from keys(inner[0], f"{prefix}{name}.")
        elif field.default is PydanticUndefined:
            yield f"{prefix}{name}", REQUIRED
        else:
            yield f"{prefix}{name}", list(field.default) if isinstance(field.default, tuple) else field.default


def tables() -> dict[str, list[list[str]]]:
    """The rows of the page's tables, head and rule left out, by the heading above them."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.strip("# ")
        elif line.startswith("|"):
            found.setdefault(heading, []).append([cell.strip(" `") for cell in line.strip("|").split("|")])
    return {name: rows[2:] for name, rows in found.items()}


def default(cell: str) -> Any:
    if cell == "required":
        return REQUIRED
    return tomllib.loads(f"value = {cell}")["value"] if cell else None


def test_law_configs_are_found_in_the_types_that_recipes_use() -> None:
    found = dict(keys(VERBS["finetune"]))
    assert found["encoder.family"] == "bert"  # the one that a recipe need not name
    assert found["head.kind"] is None  # the encoder's own
    assert found["lift.how"] == "zero-imaginary"  # optional
    assert found["train.optim.lr"] == 5e-4  # two deep
    assert dict(keys(VERBS["pretrain"]))["corpus.files"] is REQUIRED  # of a list


@pytest.mark.parametrize("verb, own", [("pretrain", "Pre-training"), ("finetune", "Fine-tuning")])
def test_law_every_key_of_a_recipe_is_on_the_page_with_its_default(verb: str, own: str) -> None:
    page = tables()
    listed = {row[0]: default(row[1]) for row in [*page[own], *page["Both"]]}
    assert len(listed) == len(page[own]) + len(page["Both"])
    assert listed == dict(keys(VERBS[verb]))
    assert all(row[2] for row in [*page[own], *page["Both"]])


def test_law_every_key_of_a_sentence_space_is_on_the_page_with_its_default() -> None:
    page = tables()
    own = {row[0]: default(row[1]) for row in page["Sentence spaces"]}
    assert len(own) == len(page["Sentence spaces"])
    shared = {row[0]: default(row[1]) for row in page["Both"]}
    assert shared | own == dict(keys(VERBS["autoencode"])) | dict(keys(TokenizerConfig, "writer.")) | WRITER
    assert all(row[2] for row in page["Sentence spaces"])


def test_law_every_key_of_responses_is_on_the_page_with_its_default() -> None:
    page = tables()
    own = {row[0]: default(row[1]) for row in page["Responses"]}
    elsewhere = ("train.", "style.")  # those of every recipe, and of a corpus
    assert own == {key: value for key, value in keys(VERBS["respond"]) if not key.startswith(elsewhere)}
    assert all(row[2] for row in page["Responses"])


WRITER = {f"writer.{name}": value for name, value in AutoencodeRecipe().writer}  # not what a tokenizer is elsewhere
KINDS = {
    **{f'`encoder.family = "{name}"`': (config, "encoder.", "family") for name, (config, _) in ENCODERS.items()},
    **{f'`head.kind = "{name}"`': (config, "head.", "kind") for name, (config, _) in HEADS.items()},
    **{f'`decoder.kind = "{name}"`': (config, "decoder.", "kind") for name, (config, _) in DECODERS.items()},
}


@pytest.mark.parametrize("heading", KINDS)
def test_law_every_key_of_a_kind_is_on_the_page_with_its_default(heading: str) -> None:
    config, prefix, kind = KINDS[heading]
    page = tables()
    rows = page[heading]
    if kind == "family" and "cvbert" in heading:  # all keys of a qbert, and what differs
        rows = [*page[heading.replace("cvbert", "qbert")], *rows]
    expected = dict(keys(config, prefix))
    del expected[prefix + kind]
    expected = {key: value for key, value in expected.items() if not key.startswith("encoder.trunk.")}  # a bert's
    assert {row[0]: default(row[1]) for row in rows} == expected
    assert all(row[2] for row in rows)


def test_law_every_key_of_using_a_model_is_on_the_page() -> None:
    assert {row[0]: default(row[1]) for row in tables()["Using a model"]} == dict(keys(UseConfig))


def test_smoke_the_recipe_that_the_training_page_shows_is_one(tmp_path: Path) -> None:
    shown = re.search(
        r"^```toml\n(.*?)^```", (ROOT / "docs" / "training.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert shown
    (tmp_path / "mine.toml").write_text(shown[1], encoding="utf-8")
    recipe = resolve_recipe("pretrain", str(tmp_path / "mine.toml"), ["train.steps=7"])
    assert isinstance(recipe, PretrainRecipe)
    assert (recipe.name, recipe.encoder.width, recipe.train.optim.lr) == ("mine", 256, 2e-3)
    assert (recipe.train.steps, recipe.train.minutes) == (7, None)


def test_known_presets_have_the_sizes_on_the_page() -> None:
    for name, *cells in tables()["Presets"]:
        recipe = resolve_recipe("pretrain", name)
        assert isinstance(recipe, PretrainRecipe)
        config = recipe.encoder.model_copy(update={"vocab_size": recipe.tokenizer.vocab_size})
        with torch.device("meta"):
            encoder = build_encoder(config)
            size = parameter_count(Network(encoder, build_pretraining_head(encoder, recipe.head)))
        shape = (config.layers, config.width, config.heads, config.hidden, config.max_len, config.vocab_size)
        assert [int(cell.replace(",", "")) for cell in cells] == [*shape, size], name
