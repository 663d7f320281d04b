"""Submission files in the format of the GLUE server: one TSV per task (index, prediction) in a flat zip.

The server wants 0 and 1 for most tasks, names for the inference tasks and a number for STS-B, one row for
every test example in order. All of that is checked here, before anything is written: the server itself only
answers "submission failed".
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from psitext.errors import UserError, near
from psitext.files import write_atomic

_DIGITS = ("0", "1")
_TWO_WAY = ("entailment", "not_entailment")
_THREE_WAY = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of the zip. ``values``: what may stand in it; empty for the scores of STS-B."""

    file: str
    rows: int  # examples of the official test set
    values: tuple[str, ...]


ENTRIES: dict[str, Entry] = {
    "cola": Entry("CoLA.tsv", 1063, _DIGITS),
    "sst2": Entry("SST-2.tsv", 1821, _DIGITS),
    "mrpc": Entry("MRPC.tsv", 1725, _DIGITS),
    "stsb": Entry("STS-B.tsv", 1379, ()),
    "mnli-m": Entry("MNLI-m.tsv", 9796, _THREE_WAY),
    "mnli-mm": Entry("MNLI-mm.tsv", 9847, _THREE_WAY),
    "qnli": Entry("QNLI.tsv", 5463, _TWO_WAY),
    "qqp": Entry("QQP.tsv", 390965, _DIGITS),
    "rte": Entry("RTE.tsv", 3000, _TWO_WAY),
    "wnli": Entry("WNLI.tsv", 146, _DIGITS),
    "ax": Entry("AX.tsv", 1104, _THREE_WAY),
}
LOWEST, HIGHEST = 0.0, 5.0  # the range of STS-B


def table(
    name: str,
    predictions: Sequence[str | float],
    label_values: Mapping[str, str] | None = None,
    *,
    official: bool = True,
) -> str:
    """The text of one file: a header, then ``index TAB prediction`` for every example.

    predictions: label names, or floats for STS-B (clipped to [0, 5], three decimals). label_values: the
    task's raw values to label names (``{"0": "negative", "1": "positive"}``), read backwards; not needed
    where names are GLUE's own. official: refuse a number of rows that is not the official test set's. Errors:
    an unknown entry, a wrong count, a label that GLUE does not know, a score that is no finite number.
    """
    if name not in ENTRIES:
        raise UserError(f"GLUE takes no file for {name!r}{near(name, ENTRIES)}; it takes: {', '.join(ENTRIES)}")
    entry = ENTRIES[name]
    if official and len(predictions) != entry.rows:
        raise UserError(
            f"{entry.file} needs the {entry.rows:,} rows of the official test set, not {len(predictions):,}"
        )
    raw = _names(entry, label_values or {})
    lines = ["index\tprediction"]
    for index, prediction in enumerate(predictions):
        value = _value(prediction, raw) if entry.values else _score(prediction)
        if value is None:
            wanted = ", ".join(raw) if entry.values else "finite numbers"
            raise UserError(
                f"prediction {index} (counted from 0) for {entry.file} is {prediction!r}; it takes: {wanted}"
            )
        lines.append(f"{index}\t{value}")
    return "\n".join(lines) + "\n"


def write_zip(path: Path, tables: Mapping[str, str]) -> tuple[str, ...]:
    """Write the texts of ``table`` by entry name as one zip and return the files that the server will still
    miss.

    Times in the zip are fixed: the same predictions give the same bytes.
    """
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(tables):
            info = zipfile.ZipInfo(ENTRIES[name].file)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, tables[name])
    write_atomic(path, memory.getvalue())
    return tuple(entry.file for name, entry in ENTRIES.items() if name not in tables)


def _names(entry: Entry, label_values: Mapping[str, str]) -> dict[str, str]:
    """Label name -> GLUE's value; GLUE's own values name themselves unless the task renames them."""
    renamed = {name: raw for raw, name in label_values.items() if raw in entry.values}
    return {value: value for value in entry.values if value not in renamed.values()} | renamed


def _value(prediction: str | float, raw: Mapping[str, str]) -> str | None:
    return raw.get(prediction) if isinstance(prediction, str) else None


def _score(prediction: str | float) -> str | None:
    if isinstance(prediction, str) or not math.isfinite(prediction):
        return None
    return f"{min(max(float(prediction), LOWEST), HIGHEST):.3f}"
