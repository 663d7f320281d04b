"""Trees to checked values, or one sentence on the first thing wrong: the key, who wrote it and where, what it takes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from psitext.config.values import C, configs_in
from psitext.errors import Unfit, near

SHOWN = 60  # characters of a line or value that a sentence repeats
WANTED = {  # by the kind of pydantic's error, the words of what a key takes
    "int_type": "a whole number", "int_parsing": "a whole number", "int_from_float": "a whole number",
    "float_type": "a number", "float_parsing": "a number", "finite_number": "a finite number",
    "bool_type": "true or false", "bool_parsing": "true or false", "string_type": "a text (in quotes)",
    "model_type": "a table of keys", "model_attributes_type": "a table of keys", "dict_type": "a table of keys",
    "tuple_type": "a list", "list_type": "a list", "literal_error": "{expected}",
    "greater_than": "more than {gt:,.12g}", "greater_than_equal": "{ge:,.12g} or more",
    "less_than": "less than {lt:,.12g}", "less_than_equal": "{le:,.12g} at most",
}  # fmt: skip


def build(cls: type[C], tree: Mapping[str, Any], origin: str, settings: Sequence[str] = ()) -> C:
    """Check ``tree`` against ``cls``. ``origin`` goes into the error sentence, of a TOML file with the line; where one
    of the ``settings`` that were laid over it is to blame, ``--set`` does.
    """
    try:
        return cls.model_validate(dict(tree))
    except ValidationError as error:
        complaint, keys = _complaint(cls, error)
        raise Unfit(wrote(origin, keys, settings), complaint) from None


def wrote(origin: str, keys: Sequence[str], settings: Sequence[str]) -> str:
    """Who wrote what stands at ``keys``: one of the settings, or a line of the file ``origin``."""
    for setting in settings:
        named = setting.partition("=")[0].strip().split(".")
        if keys and named == list(keys[: len(named)]):
            return "--set"
    path = Path(origin)
    number = _line_of(path, keys) if keys and path.suffix == ".toml" and path.is_file() else None
    return origin if number is None else f"{origin} line {number}"


def _complaint(cls: type[BaseModel], error: ValidationError) -> tuple[str, list[str]]:
    """How the sentence about the first thing wrong goes on after its origin, and the keys that lead there, if one key
    is to blame; pydantic's own report is a page. An unknown key comes before all: what else is wrong is often its
    consequence.
    """
    found = error.errors()
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    steps, keys = _place(cls, first["loc"])
    where = ".".join(steps) or "the recipe"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        return f" has an unknown key {where!r}{near(steps[-1], keys)}", steps
    if not steps and first["type"] == "value_error":  # from a check of the whole, whose values are a page
        return f": {message}", []
    if first["type"] == "value_error" and isinstance(first["input"], Mapping):  # the same of a table
        return f", table {where}: {message}", []
    if first["type"] == "missing":
        return f" lacks {where!r}", []
    if first["type"] == "union_tag_invalid":
        key, tag, known = (first["ctx"][name].replace("'", "") for name in ("discriminator", "tag", "expected_tags"))
        names = known.split(", ")
        said = near(tag, names) or "; there are: " + ", ".join(names)
        return f" sets {where}.{key} to {tag!r}{said}", [*steps, key]
    wanted = WANTED.get(first["type"])
    takes = f"it takes {wanted.format(**first.get('ctx', {}))}" if wanted else f"{message[0].lower()}{message[1:]}"
    return f" sets {where} to {_shown(first['input'])}: {takes}", steps


def _shown(value: Any) -> str:
    """A value as a sentence repeats it."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]} ..."


def _line_of(path: Path, keys: Sequence[str]) -> int | None:
    """The line of a TOML file that sets what stands at ``keys``, or begins the table of that name; None where no line
    says so as plainly as people write it.
    """
    table: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        head, key = re.match(r"\s*\[+([^\[\]]+)\]", line), re.match(r"\s*([\w.\"' -]+?)\s*=", line)
        named = [part.strip(" \"'") for part in (head or key or [""] * 2)[1].split(".")]
        table, place = (named, named) if head else (table, [*table, *named])
        if (head and place == list(keys)) or (key and not head and place == list(keys[: len(place)])):
            return number
    return None


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
