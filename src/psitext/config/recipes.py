"""Recipes: those that ship and those of users, one laid over another, single values laid over both."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from psitext.config.toml import read_toml
from psitext.config.values import Tree
from psitext.errors import UserError, near

RECIPES = Path(__file__).parents[1] / "recipes"
# Keys of which a [train] table holds one: a budget of steps laid over a recipe takes the place of its epochs.
ALTERNATIVES = (frozenset({"steps", "epochs", "minutes", "tokens"}), frozenset({"batch_tokens", "batch_sequences"}))
RUNS = ("base", "smoke", "shipped")  # the folders of it that hold recipes of runs


def recipe_names() -> dict[str, Path]:
    """Every recipe of a run that ships with psitext, by its short name (``bert-mini``); tasks and queues are not
    runs.
    """
    return {path.stem: path for kind in RUNS for path in sorted((RECIPES / kind).glob("*.toml"))}


def read_recipe(name: str) -> Tree:
    """Read a recipe by path or by the name of one that ships with psitext, and merge it over what it extends.

    Errors: an unknown name (with the near ones), a recipe that extends a recipe that extends another.
    """
    path = _find(name)
    tree = read_toml(path)
    parent = tree.pop("extends", None)
    if parent is None:
        return tree
    base_path = _extended(path, parent)
    base = read_toml(base_path)
    if "extends" in base:
        raise UserError(
            f"{path} extends {base_path.name}, which itself extends {base['extends']}; one step is the limit"
        )
    return merged(base, tree)


def recipe_text(name: str) -> str:
    """The file of a recipe, and behind it, as comments, the one that it extends; itself a recipe wherever it is put.

    Errors: as ``read_recipe``.
    """
    read_recipe(name)
    path = _find(name)
    text, parent = path.read_text(encoding="utf-8-sig"), read_toml(path).get("extends")
    if parent is None:
        return text
    base = _extended(path, parent)
    lines = ("", f"{base.stem}, which it extends:", "", *base.read_text(encoding="utf-8-sig").splitlines())
    return text + "".join(f"# {line}".rstrip() + "\n" for line in lines)


def _extended(path: Path, parent: Any) -> Path:
    """The file of what a recipe extends: one beside it, or one that ships with psitext."""
    if not isinstance(parent, str):
        raise UserError(f"{path} sets extends to {parent!r}; it takes one name of a recipe, or one path")
    beside = path.parent / parent
    return beside if beside.is_file() else _find(parent)


def usual_pretraining(*, init: bool, halves: bool) -> str:
    """The recipe of whoever names none: it goes on from a model, joins two halves, or begins with nothing."""
    return "optimus-mini" if halves else "adapt" if init else "bert-mini"


def merged(base: Mapping[str, Any], over: Mapping[str, Any], table: str = "") -> Tree:
    """``base`` with the leaves of ``over`` laid on it; neither is changed. In a [train] table an alternative replaces
    the others.
    """
    groups = ALTERNATIVES if table == "train" else ()
    replaced = {key for group in groups if group & over.keys() for key in group}
    result: Tree = {key: value for key, value in base.items() if key not in replaced}
    for key, value in over.items():
        below = result.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        result[key] = merged(below, value, key) if both else value  # type: ignore[arg-type]
    return result


def with_overrides(tree: Mapping[str, Any], settings: Sequence[str]) -> Tree:
    """Lay ``a.b=value`` settings over a recipe; a value is TOML where it parses as such, else a plain string."""
    result = dict(tree)
    for setting in settings:
        name, equals, text = setting.partition("=")
        keys = name.strip().split(".")
        if not equals or not all(keys):
            raise UserError(f"--set takes key=value with dots between tables (train.optim.lr=1e-4), not {setting!r}")
        leaf: Any = _value(text.strip())
        for key in reversed(keys):
            leaf = {key: leaf}
        result = merged(result, leaf)
    return result


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _find(name: str) -> Path:
    if name.endswith(".toml") or "/" in name:
        return Path(name)
    known = recipe_names()
    if name not in known:
        raise UserError(f"no recipe called {name!r}{near(name, known) or '; there are: ' + ', '.join(known)}")
    return known[name]
