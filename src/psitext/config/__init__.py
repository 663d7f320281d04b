"""Recipes: TOML in, frozen and checked values out.

Every part of psitext keeps its own ``Config`` beside its code; this room holds what they share: ``values`` (what a
config is), ``checking`` (a tree to one, or a sentence on what is wrong), ``toml`` and ``recipes`` (files to trees).
A recipe may name one other recipe in ``extends`` and then holds only its differences. A key that no config knows is an
error that names the key.
"""

from psitext.config.checking import build, wrote
from psitext.config.recipes import (
    RECIPES,
    merged,
    read_recipe,
    recipe_names,
    recipe_text,
    usual_pretraining,
    with_overrides,
)
from psitext.config.toml import read_toml
from psitext.config.values import MAX_INT, Config, Tree, configs_in, named_by_keys, recipe_hash

__all__ = [
    "MAX_INT",
    "RECIPES",
    "Config",
    "Tree",
    "build",
    "configs_in",
    "merged",
    "named_by_keys",
    "read_recipe",
    "read_toml",
    "recipe_hash",
    "recipe_names",
    "recipe_text",
    "usual_pretraining",
    "with_overrides",
    "wrote",
]
