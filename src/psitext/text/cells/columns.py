"""Columns that a table is asked for: no two the same, and the one sentence about those that it lacks."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from psitext.errors import UserError, near, nearest

MOST, LONGEST = 12, 40  # columns, and letters of each, that a sentence lists
BY_NUMBER = "numbers, for all columns or none, count those of a table without a header line"


def check_apart(wanted: Mapping[str, str | None]) -> None:
    """Refuse one column under two options ("text" for --text); None is an option that is not given."""
    named = [(option, name) for option, name in wanted.items() if name is not None]
    for (one, name), (other, same) in combinations(named, 2):
        if name == same:
            raise UserError(f"--{one} and --{other} both name the column {name!r}")


def are_numbers(wanted: Mapping[str, str]) -> bool:
    """Whether columns are counted, from 1, and not named."""
    return bool(wanted) and all(name.isdecimal() for name in wanted.values())


def counted(where: str, wanted: Mapping[str, str], fields: Iterable[str]) -> str:
    """The sentence on a table whose columns are counted, so that its first line, the ``fields``, is a row."""
    cells = dict(enumerate(fields, 1))
    options = " ".join(f"--{option} {name}" for option, name in wanted.items())
    names = [f"--{option} {shlex.quote(_short(cells.get(int(name), '')))}" for option, name in wanted.items()]
    return (
        f"{where} is read as a table without a header line, since its columns are counted ({options}); if its first "
        f"line has their names ({listed(list(cells.values()))}), give these: {' '.join(names)}"
    )


def check_columns(
    where: str, wanted: Mapping[str, str], fields: Iterable[str], hint: str | None = None, *, countable: bool = False
) -> None:
    """Refuse a table that lacks one of the ``wanted`` columns, by the option that names each ("text" for --text).

    ``hint`` takes the place of the advice to use these options. Of a format whose columns may be counted
    (``countable``) it says so where no name is near.
    """
    there = list(fields)
    lacking = {option: name for option, name in wanted.items() if name not in there}
    if lacking:
        options = " and ".join(f"--{option}" for option in lacking)
        advice = f"name {'it' if len(lacking) == 1 else 'them'} with {options}"
        if countable and not any(nearest(name, there) for name in lacking.values()):
            advice += f"; {BY_NUMBER}"
        raise no_column(where, list(lacking.values()), there, advice if hint is None else hint)


def no_column(where: str, names: str | Sequence[str], fields: Iterable[str], hint: str = "") -> UserError:
    """The error of one column, or several, that are not there: those that are, the likest first, and what to do."""
    missing = [names] if isinstance(names, str) else list(names)
    there = list(fields)
    like = [one for name in missing for one in nearest(name, there)]
    has = listed(list(dict.fromkeys((*like, *there))))
    meant = near(missing[0], there) if len(missing) == 1 else ""
    said = f"{where} has no column{'' if len(missing) == 1 else 's'} {' and '.join(map(repr, map(_short, missing)))}"
    return UserError(f"{said}{f'{meant} It' if meant else '; it'} has: {has or 'none'}{f' ({hint})' if hint else ''}")


def no_value(where: str, name: str) -> UserError:
    """The error of a record without a value in a column that others have."""
    return UserError(f"{where} has no value for {name!r}; give it one, or leave the record out")


def listed(names: Sequence[str]) -> str:
    """Some columns, for a sentence."""
    more = f" and {len(names) - MOST:,} more" if len(names) > MOST else ""
    return ", ".join(map(_short, names[:MOST])) + more


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 4]} ..."
