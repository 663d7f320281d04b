"""Verbs that use a model: predict, encode, evaluate, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from psitext.cli.options import DataDir, ModelName, Out, Pair, Text

if TYPE_CHECKING:
    from psitext.model import Model
    from psitext.text.examples import Example


def predict(
    texts: Annotated[list[str], typer.Argument(help="A file with a text column, or the texts themselves.")],
    model: ModelName,
    text: Text = None,
    pair: Pair = None,
    out: Out = None,
) -> None:
    """Predict a label for every text of a file, or for texts given as they are.

    Example: psitext predict reviews.csv --text review --model runs/sentiment -o predicted.csv
    """
    from psitext.cli.output import write_answers
    from psitext.model import load

    found = load(model)
    examples = _examples(found, texts, text, pair)
    write_answers(examples, found.predict(examples), out)


def encode(
    texts: Annotated[list[str], typer.Argument(help="A file with a text column, or the texts themselves.")],
    model: ModelName,
    text: Text = None,
    pair: Pair = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Keep the state of every token too (.npz only).")] = False,
    out: Out = None,
) -> None:
    """Encode texts into state vectors: JSON lines on the terminal, or a .npy, .npz or .jsonl file.

    Example: psitext encode "a gripping, funny film" --model runs/books
    """
    from psitext.cli.output import write_states
    from psitext.errors import UserError
    from psitext.model import load

    if tokens and (out is None or out.suffix != ".npz"):
        raise UserError("--tokens needs -o with a .npz file")
    found = load(model)
    examples = _examples(found, texts, text, pair)
    state = found.encode(
        [example.text for example in examples],
        [example.pair or "" for example in examples] if examples[0].pair is not None else None,
        tokens=tokens,
    )
    write_states([example.text for example in examples], state, out)


def evaluate(
    model: ModelName,
    task: Annotated[
        str | None, typer.Option("--task", help="A task; without it, the one the model was trained for.")
    ] = None,
    split: Annotated[
        str | None, typer.Option("--split", help="A split of the task; without it, every dev split.")
    ] = None,
    data: Annotated[str | None, typer.Option("--data", help="A labelled file of your own.")] = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also majority and bag of words, trained on the task's train split."),
    ] = False,
    submission: Annotated[
        Path | None, typer.Option("--submission", help="Write GLUE's file for the hidden test split (.zip).")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Score a model on a task's splits or on your own labelled file.

    Example: psitext evaluate --model runs/sst2 --task sst2 --baselines
    """
    from psitext.cli.tables import rows_table, score_table
    from psitext.experiments import evaluation
    from psitext.model import load

    found = load(model)
    wanted = evaluation.task_of(found, task)
    if submission is not None:
        names = evaluation.write_submission({wanted.name: found}, submission, data_dir)
        typer.echo(f"{submission}: {', '.join(names)}")
        return
    splits = evaluation.labelled_splits(wanted, split, data, data_dir)
    score_table([{name: found.evaluate(examples) for name, examples in splits.items()}])
    if baselines:
        rows_table(evaluation.baseline_rows(wanted, splits, data_dir))


def export(
    model: ModelName,
    out: Out = None,
    to: Annotated[str, typer.Option("--to", help="hf: a folder that transformers loads.")] = "hf",
) -> None:
    """Write a model in another library's form.

    Example: psitext export --model runs/sst2 --to hf -o sst2-hf
    """
    from psitext.errors import UserError, near
    from psitext.experiments.export import EXPORTS
    from psitext.model import load

    if to not in EXPORTS:
        raise UserError(f"cannot export to {to!r}{near(to, EXPORTS) or '; there is: ' + ', '.join(EXPORTS)}")
    if out is None:
        raise UserError("name a folder with -o")
    EXPORTS[to](load(model), out)
    typer.echo(f"written: {out}")


def _examples(model: Model, texts: list[str], text: str | None, pair: str | None) -> list[Example]:
    """The texts as examples; one argument that names a file, or looks like one, is read as a table."""
    from psitext.errors import UserError
    from psitext.model import PLAIN
    from psitext.text.examples import Example
    from psitext.text.rows import ENDINGS
    from psitext.text.tasks import load_like

    endings = tuple(ending + packed for ending in ENDINGS for packed in ("", ".gz", ".zst"))
    if len(texts) == 1 and (texts[0].endswith(endings) or text is not None):
        task = model.task or PLAIN
        columns = {"text": text or task.text, "pair": pair or task.pair}
        return load_like(texts[0], task.model_copy(update=columns), labelled=False)
    if pair is not None:
        raise UserError("--pair names a column, so the texts must come from one file")
    return [Example(text=value, words=tuple(value.split()), line=number) for number, value in enumerate(texts, 1)]


COMMANDS = (predict, encode, evaluate, export)
