"""Files of dialogues to turns: every utterance but the first is a response to those before it.

Source: Li et al. 2017 (DailyDialog, whose utterances end in ``__eou__``); Li et al. 2020 (Optimus), section 4.2, and
Gu et al. 2019, who take ten utterances of both speakers as context.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from psitext.errors import UserError
from psitext.text.cells.columns import no_column
from psitext.text.rows import rows
from psitext.text.tokenizer.words import tight

END = "__eou__"  # what ends an utterance in DailyDialog's files
STRAIGHT = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})


@dataclass(frozen=True, slots=True)
class Turn:
    """What two people said in turn, and what the first of them, or the second, says next."""

    context: tuple[str, ...]  # oldest first, one at least; the speakers alternate
    response: str


def dialogs(
    paths: Sequence[Path | str], *, column: str = "dialogue", end: str = END, tidy: bool = True
) -> Iterator[tuple[str, ...]]:
    """Every dialogue of files, as its utterances: of a table the ``column``, of plain text each line, cut at ``end``.

    With ``tidy`` as ``plain`` writes them. Utterances without a word, and dialogues of fewer than two, are left out.
    Errors: those of ``text.rows``; a column that is not there; a file without any dialogue.
    """
    for path in paths:
        told = False
        for row in rows(path):
            name = "text" if list(row.fields) == ["text"] else column
            if name not in row.fields:
                raise no_column(f"{path} line {row.line}", name, row.fields)
            said = [" ".join(one.split()) for one in row.fields[name].split(end)]
            utterances = tuple(plain(one) if tidy else one for one in said if one)
            if len(utterances) > 1:
                told = True
                yield utterances
        if not told:
            raise UserError(f"{path} holds no dialogue of two utterances that end in {end} in the column {column!r}")


def turns(found: Iterable[Sequence[str]], most: int = 10) -> Iterator[Turn]:
    """Every turn of dialogues, with the last ``most`` utterances before it."""
    for utterances in found:
        for at in range(1, len(utterances)):
            yield Turn(tuple(utterances[max(at - most, 0) : at]), utterances[at])


def plain(utterance: str) -> str:
    """An utterance as people write it: straight quotes, no spaces before marks (``it ’ s`` is ``it's``)."""
    return tight(" ".join(utterance.split()).translate(STRAIGHT))
