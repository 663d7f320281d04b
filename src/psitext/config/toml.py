"""TOML files to trees, or one sentence on where a file is none."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from psitext.config.values import Tree
from psitext.errors import UserError

SHOWN = 60  # characters of a line or value that a sentence repeats
# How the TOML library begins what it says of a file, and what there is to do.
NO_TOML = {
    "Expected ']'": "the name of a table stands in brackets, [train]",
    "Expected '='": "a key, an equals sign and a value are wanted, as in steps = 100",
    "Invalid statement": "a key, an equals sign and a value are wanted, as in steps = 100",
    "Invalid initial character for a key": "a name is wanted there",
    "Invalid value": 'the value is none; a text stands in quotes, name = "mine"',
    "Illegal character": "the closing quote of a text is missing, or it holds a control character",
    "Unterminated string": "the closing quote of a text is missing",
    "Expected newline or end of document": "something follows after the value; a text stands in quotes",
    "Unescaped": "a backslash within double quotes is written twice; single quotes take it as it is",
    "Unclosed": "a bracket is not closed",
    "Cannot declare": "that table is there already",
    "Cannot overwrite": "that key is there already",
    "Cannot mutate": "that table is there already",
    "Duplicate inline table key": "that key is there already",
}


def read_toml(path: Path, kind: str = "recipe") -> Tree:
    """Read one TOML file, of a ``kind`` that the sentences name, or say where it cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # some editors begin a file with a mark
    except FileNotFoundError:
        raise UserError(f"there is no {kind} file {path}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(_no_toml(path, str(error))) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None


def _no_toml(path: Path, message: str) -> str:
    """The sentence about a file that is no TOML, from what the library says: where, what stands there, and why."""
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    found = re.search(r"\(at line (\d+), column \d+\)", message)
    number = int(found[1]) if found else max(len(lines), 1)
    if number > 1 and not "".join(lines[number - 1 : number]).strip():  # an end that was missed on the line above
        number -= 1
    stands = "".join(lines[number - 1 : number]).strip()[:SHOWN]
    shown = f"`{stands}`" if stands.isprintable() else repr(stands)
    why = next((words for said, words in NO_TOML.items() if message.startswith(said)), "")
    return f"{path} line {number} is not valid TOML: {shown}{f' ({why})' if why else ''}"
