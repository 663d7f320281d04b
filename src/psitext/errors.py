"""The one kind of error that a user can cause, and the search for the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


class UserError(Exception):
    """A mistake in what the user gave: one sentence that says what was wrong, where, and what would be right.

    The command line prints it as ``psitext: <sentence>`` on standard error and exits with code 2.
    """


def near(name: str, choices: Iterable[str], most: int = 3) -> str:
    """Return ``"; did you mean 'a' or 'b'?"`` for the choices that look like ``name``, or ``""``."""
    known = list(choices)
    small = {choice.lower() for choice in known}  # BERT is as near to bert as can be
    like = set(get_close_matches(name.lower(), small, n=max(len(small), 1), cutoff=0.6))
    found = [choice for choice in known if choice.lower() in like]
    if not found:
        return ""
    found.sort(key=lambda choice: (-SequenceMatcher(None, choice.lower(), name.lower()).ratio(), choice))
    quoted = [repr(choice) for choice in found[:most]]
    listed = quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
    return f"; did you mean {listed}?"
