"""Frozen settings: the base of every part's ``Config``, unions of them, and the hash that names a recipe."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

Tree = dict[str, Any]
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


def named_by_keys(*kinds: type[Config]) -> BeforeValidator:
    """For a union that a discriminator tells apart: a table without a name is of the first kind that has all its keys;
    of the first of all where none has.
    """
    discriminator = next(iter(kinds[0].model_fields))

    def named(value: Any) -> Any:
        if not isinstance(value, Mapping) or discriminator in value:
            return value
        kind = next((kind for kind in kinds if value.keys() <= kind.model_fields.keys()), kinds[0])
        return {discriminator: kind.model_fields[discriminator].default, **value}

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
