"""Answers and states as files: CSV, TSV or JSON lines, and numpy's own formats."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from psitext.files import write_atomic

if TYPE_CHECKING:
    from psitext.model import Answer
    from psitext.state import Posterior, SentenceState
    from psitext.text.examples import Example

TABLES, STATES = (".csv", ".tsv", ".jsonl"), (".npy", ".npz", ".jsonl")


@contextmanager
def stopping(what: str, out: Path | None = None) -> Iterator[None]:
    """Ctrl-C as one sentence: ``what`` was being done, and what became of ``out``, which is written whole or not."""
    from psitext.errors import Interrupted

    there = out is not None and out.exists()
    try:
        yield
    except KeyboardInterrupt:
        left = "nothing of it is kept" if out is None else f"{out} is {'as it was' if there else 'not written'}"
        raise Interrupted(f"interrupted while {what}; {left}") from None


def write_answers(examples: Sequence[Example], answers: Sequence[Answer], out: Path | None) -> None:
    """One record a text: its line, the text, the label, its probability and every class's."""
    records = [_record(example, answer) for example, answer in zip(examples, answers, strict=True)]
    if out is None:
        for record in records:
            typer.echo(spoken(record))
        return
    write_atomic(out, _table(records, out))
    typer.echo(f"{len(records):,} predictions: {out}")


def write_scores(records: Sequence[dict[str, Any]], out: Path) -> None:
    """A record for every split and whatever was scored on it, with the fields of the first one."""
    write_atomic(out, _table([{key: record.get(key) for key in records[0]} for record in records], out))
    typer.echo(f"scores: {out}")


def write_states(texts: Sequence[str], state: SentenceState | Posterior, out: Path | None) -> None:
    """State vectors as JSON lines with their texts, or as arrays: ``vector`` (B, D), ``tokens`` (B, L, D), ``real``
    (B, L); of a posterior its mean is ``vector``, and ``log_var`` (B, D) goes into an .npz.
    """
    vector = state.numpy()
    if not np.isfinite(vector).all():
        from psitext.errors import UserError

        number = int(np.flatnonzero(~np.isfinite(vector).all(axis=1))[0]) + 1
        raise UserError(
            f"the state of text {number} is not finite: the model's training diverged, or its weights are damaged"
        )
    if out is None or out.suffix == ".jsonl":
        records = [{"text": text, "vector": _numbers(row)} for text, row in zip(texts, vector, strict=True)]
        if out is None:
            typer.echo("\n".join(map(spoken, records)))
            return
        write_atomic(out, _table(records, out))
    else:
        buffer = io.BytesIO()
        if out.suffix == ".npy":
            np.save(buffer, vector)
        else:
            arrays = {"vector": vector}
            from psitext.state import Posterior

            if isinstance(state, Posterior):
                arrays["log_var"] = state.log_var.numpy()
            elif state.tokens is not None and state.real is not None:
                arrays |= {"tokens": state.tokens.numpy(), "real": state.real.numpy()}
            np.savez(buffer, allow_pickle=False, **arrays)
        write_atomic(out, buffer.getvalue())
    typer.echo(f"{len(texts):,} states of width {state.width}: {out}")


def spoken(record: dict[str, Any]) -> str:
    """One JSON line for standard output: JSON's own escapes of control characters, and of all that is not ASCII where
    that is not UTF-8 (a pipe on Windows).
    """
    from psitext.cli.terminal import is_control

    line = json.dumps(record, ensure_ascii="utf" not in (sys.stdout.encoding or "").lower())
    return "".join(f"\\u{ord(sign):04x}" if is_control(sign) else sign for sign in line)


def _numbers(row: np.ndarray[Any, Any]) -> list[Any]:
    """Six digits; a complex number is [real, imaginary]."""
    if np.iscomplexobj(row):
        return [[round(float(value.real), 6), round(float(value.imag), 6)] for value in row]
    return [round(float(value), 6) for value in row]


def _record(example: Example, answer: Answer) -> dict[str, Any]:
    record: dict[str, Any] = {"line": example.line, "text": example.text}
    if example.pair is not None:
        record["pair"] = example.pair
    record["prediction"] = answer.label
    if answer.probability is not None:
        record["probability"] = round(answer.probability, 6)
        record |= {f"probability of {name}": round(value, 6) for name, value in answer.probabilities.items()}
    if answer.span is not None:
        record |= {"start": answer.span[0], "end": answer.span[1]}
    return record


def _table(records: Sequence[dict[str, Any]], out: Path) -> str:
    if out.suffix == ".jsonl":
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    text = io.StringIO(newline="")
    if out.suffix == ".tsv":
        # TSV has no quoting here, so what would break a row becomes a space.
        records = [
            {key: " ".join(value.split()) if isinstance(value, str) else value for key, value in record.items()}
            for record in records
        ]
    plain = {"delimiter": "\t", "quoting": csv.QUOTE_NONE, "quotechar": None}
    form: dict[str, Any] = plain if out.suffix == ".tsv" else {}
    writer = csv.DictWriter(text, records[0].keys(), lineterminator="\n", **form)
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()
