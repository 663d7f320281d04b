"""The kinds of error that a user can cause, and the search for the name that was meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches


class UserError(Exception):
    """A mistake in what the user gave: one sentence that says what was wrong, where, and what would be right.

    The command line prints it as ``psitext: <sentence>`` on standard error and exits with code 2. What else than the
    sentence a caller needs to know is a field of a kind below, so that no one reads it out of the words.
    """


class Interrupted(UserError):
    """Work that was asked to stop and cannot go on; the sentence says what there is of it."""

    exit_code = 130  # as a shell reports Ctrl-C


class Unfit(UserError):
    """A value that a config refuses: ``origin`` says who gave it, and ``complaint`` goes on from there."""

    def __init__(self, origin: str, complaint: str) -> None:
        super().__init__(origin, complaint)  # as the arguments that make it, since errors travel between processes
        self.origin, self.complaint = origin, complaint

    def __str__(self) -> str:
        return f"{self.origin}{self.complaint}"


class Unknown(UserError):
    """A name that is none of the ``known`` ones: ``what`` says so, ``otherwise`` is the advice where none is near."""

    def __init__(self, what: str, name: str, known: Iterable[str], otherwise: str = "") -> None:
        self.what, self.name, self.known, self.otherwise = what, name, tuple(known), otherwise
        super().__init__(what, name, self.known, otherwise)

    def __str__(self) -> str:
        return self.among(())

    def among(self, more: Iterable[str]) -> str:
        """The sentence, with ``more`` names that the caller knows to choose from."""
        return f"{self.what}{near(self.name, (*self.known, *more)) or self.otherwise}"


def near(name: str, choices: Iterable[str], most: int = 3) -> str:
    """Return ``"; did you mean 'a' or 'b'?"`` for the choices that look like ``name``, or ``""``."""
    found = nearest(name, choices)[:most]
    if not found:
        return ""
    quoted = [repr(choice) for choice in found]
    listed = quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " or " + quoted[-1]
    return f"; did you mean {listed}?"


def nearest(name: str, choices: Iterable[str]) -> list[str]:
    """The choices that look like ``name``, the likest first, equals in alphabetical order."""
    known = list(choices)
    small = {choice.lower() for choice in known}  # BERT is as near to bert as can be
    like = set(get_close_matches(name.lower(), small, n=max(len(small), 1), cutoff=0.6))
    found = [choice for choice in known if choice.lower() in like]
    return sorted(found, key=lambda one: (-SequenceMatcher(None, one.lower(), name.lower()).ratio(), one))


# How the json module begins what it says, and what there is to do.
_JSON = {
    "Expecting property name": "a key in double quotes is missing",
    "Expecting value": "a value is missing (text stands in double quotes; there are also numbers, true, false, null)",
    "Expecting ',' delimiter": "a comma or a closing bracket is missing",
    "Expecting ':' delimiter": "a colon is missing after a key",
    "Extra data": "something follows after its end",
    "Unterminated string": "the text that begins there has no closing quote",
    "Invalid control character": "a line break or tab within a text is written \\n or \\t",
    "Invalid \\escape": "a backslash within a text is written twice",
    "Invalid \\u": "\\u takes four hexadecimal digits",
    "Illegal trailing comma": "a comma stands before a closing bracket",
}


def json_fault(message: str) -> str:
    """What is wrong with JSON, in words for whoever wrote it, from what the json module says."""
    return next((words for said, words in _JSON.items() if message.startswith(said)), message.lower())
