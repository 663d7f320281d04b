"""Recipes: TOML in, frozen and checked values out.

Every part of psitext keeps its own ``Config`` beside its code; this module holds what they share. A recipe may name
one other recipe in ``extends`` and then holds only its differences. A key that no config knows is an error that
names the key.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from psitext.errors import Unfit, UserError, near

Tree = dict[str, Any]
RECIPES = Path(__file__).parent / "recipes"
# Keys of which a [train] table holds one: a budget of steps laid over a recipe takes the place of its epochs.
ALTERNATIVES = (frozenset({"steps", "epochs", "minutes", "tokens"}), frozenset({"batch_tokens", "batch_sequences"}))
RUNS = ("base", "smoke", "shipped")  # the folders of it that hold recipes of runs
MAX_INT = 2**63 - 1  # of every whole number, seeds too: torch and numpy take no more


class Config(BaseModel):
    """Frozen base of every part's settings; unknown keys are errors, and numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)

    @model_validator(mode="before")  # of the whole: a discriminator may have no validator of its own
    @classmethod
    def _plain_numbers(cls, tree: Any) -> Any:
        """Pydantic takes true for 1, and whole numbers of any length."""
        for key, value in tree.items() if isinstance(tree, Mapping) else ():
            field = cls.model_fields.get(key)
            if isinstance(value, bool) and field is not None and _takes_numbers_only(field.annotation):
                raise ValueError(f"{key} is a number, not {str(value).lower()}")
            if isinstance(value, int) and not -MAX_INT <= value <= MAX_INT:
                raise ValueError(f"{key} is beyond {MAX_INT}, where whole numbers end")
        return tree

    def tree(self) -> Tree:
        """The settings as plain JSON values, every default written out."""
        return self.model_dump(mode="json")


C = TypeVar("C", bound=Config)


def recipe_hash(config: Config) -> str:
    """Twelve hexadecimal digits that name these settings, independent of the order of keys.

    Only what differs from the defaults counts, so a setting that psitext learns later leaves old names as they are.
    """
    text = json.dumps(_differences(config), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _differences(config: BaseModel) -> Tree:
    """What differs from the defaults; where kinds of configs stand for one another, the name of any but the first."""
    tree: Tree = config.model_dump(mode="json", exclude_defaults=True)
    for key, field in type(config).model_fields.items():
        value = getattr(config, key)
        if key in tree and isinstance(value, BaseModel):
            name = next(iter(type(value).model_fields))
            named = {name: getattr(value, name)} if type(value) in configs_in(field.annotation)[1:] else {}
            tree[key] = {**_differences(value), **named}
    return tree


def first_unless_named(first: type[Config]) -> BeforeValidator:
    """For a union that a discriminator tells apart: a table without a name is of the kind ``first``."""
    key, field = next(iter(first.model_fields.items()))

    def named(value: Any) -> Any:
        return {key: field.default, **value} if isinstance(value, Mapping) else value

    return BeforeValidator(named)


def configs_in(annotation: Any) -> list[type[BaseModel]]:
    """The configs in a type, in order: of ``X``, ``X | None``, ``tuple[X, ...]``, ``X | Y``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [config for part in get_args(annotation) for config in configs_in(part)]


def _takes_numbers_only(annotation: Any) -> bool:
    """True of ``int``, ``float | None`` and the like, which hold a number and no truth value."""
    kinds = {annotation, *get_args(annotation)}
    return bool(kinds & {int, float}) and bool not in kinds


def build(cls: type[C], tree: Mapping[str, Any], origin: str) -> C:
    """Check ``tree`` against ``cls``; ``origin`` (a file name or ``--set``) goes into the error sentence."""
    try:
        return cls.model_validate(dict(tree))
    except ValidationError as error:
        raise Unfit(origin, _complaint(cls, error)) from None


def read_toml(path: Path) -> Tree:
    """Read one TOML file, or say where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin a file with a mark
    except FileNotFoundError:
        raise UserError(f"there is no recipe file {path}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


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
    if not isinstance(parent, str):
        raise UserError(f"{path} sets extends to {parent!r}; it takes one name of a recipe, or one path")
    beside = path.parent / parent
    base_path = beside if beside.is_file() else _find(parent)
    base = read_toml(base_path)
    if "extends" in base:
        raise UserError(
            f"{path} extends {base_path.name}, which itself extends {base['extends']}; one step is the limit"
        )
    return merged(base, tree)


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


def _complaint(cls: type[BaseModel], error: ValidationError) -> str:
    """How the sentence about the first thing wrong goes on after its origin; pydantic's own report is a page. An
    unknown key comes before all: what else is wrong is often its consequence.
    """
    found = error.errors()
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    steps, keys = _place(cls, first["loc"])
    where = ".".join(steps) or "the recipe"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f" has an unknown key {where!r}{near(steps[-1], keys)}"
    if not steps and first["type"] == "value_error":  # from a check of the whole, whose values are a page
        return f": {message}"
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):  # the same of a table
        return f", table {where}: {message}"
    if first["type"] == "missing":
        return f" lacks {where!r}"
    if first["type"] == "union_tag_invalid":
        key, tag, known = (first["ctx"][name].replace("'", "") for name in ("discriminator", "tag", "expected_tags"))
        names = known.split(", ")
        said = near(tag, names) or "; there are: " + ", ".join(names)
        return f" sets {where}.{key} to {tag!r}{said}"
    return f" sets {where} to {first['input']!r}: {message[0].lower()}{message[1:]}"


def _place(cls: type[BaseModel], loc: Sequence[int | str]) -> tuple[list[str], list[str]]:
    """The keys that lead to a place, without the names of kinds that pydantic puts between them, and the keys that
    are known where the last one stands.
    """
    steps: list[str] = []
    keys: list[str] = []
    here: list[type[BaseModel]] = [cls]  # the configs that may stand there; of several, the next step names one
    for step in loc:
        if len(here) > 1:
            here = [config for config in here if next(iter(config.model_fields.values())).default == step]
            continue
        steps.append(str(step))
        if isinstance(step, str):
            fields = {key: field for config in here for key, field in config.model_fields.items()}
            keys, here = list(fields), configs_in(fields[step].annotation) if step in fields else []
    return steps, keys
