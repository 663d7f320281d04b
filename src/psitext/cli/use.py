"""Verbs that use a model: predict, encode, evaluate."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from psitext.cli.options import (
    Data,
    DataDir,
    Label,
    ModelName,
    Out,
    Pair,
    Settings,
    Splits,
    Task,
    Text,
    columns_given,
)

if TYPE_CHECKING:
    from psitext.model import Model
    from psitext.model.settings import UseConfig
    from psitext.nn.numerics import Precision
    from psitext.text.examples import Example
    from psitext.text.examples import Task as AnyTask

SENTENCES, DRAWS = 500, 100  # of a sentence space that is judged
UseFile = Annotated[
    str | None, typer.Option("--config", help="A TOML file with any of pool, precision and batch_tokens.")
]


def predict(
    texts: Annotated[list[str], typer.Argument(help="A file with a text column, or the texts themselves.")],
    model: ModelName,
    text: Text = None,
    pair: Pair = None,
    out: Out = None,
    config: UseFile = None,
    settings: Settings = None,
) -> None:
    """Predict a label for every text of a file, or for texts given as they are.

    Example: psitext predict reviews.csv --text review --model runs/sentiment -o predicted.csv
    """
    from psitext.cli import early, output, terminal

    early.ending(out, output.TABLES, "predictions")
    _look(texts, model, text, pair, out)
    found, use = _load_whole(model, config, settings)
    examples = _examples(found, texts, text, pair)
    with output.stopping(f"{len(examples):,} texts were answered", out):
        answers = found.predict(examples, precision=use.precision, batch_tokens=use.batch_tokens)
        output.write_answers(examples, answers, out)
    terminal.tell_cut([answer.cut for answer in answers], found, "texts")
    _tell_unknown(examples, found)


def encode(
    texts: Annotated[list[str], typer.Argument(help="A file with a text column, or the texts themselves.")],
    model: ModelName,
    text: Text = None,
    pair: Pair = None,
    tokens: Annotated[bool, typer.Option("--tokens", help="Keep the state of every token too (.npz only).")] = False,
    out: Out = None,
    config: UseFile = None,
    settings: Settings = None,
) -> None:
    """Encode texts into state vectors: JSON lines on the terminal, or a .npy, .npz or .jsonl file.

    Example: psitext encode "a gripping, funny film" --model runs/books --set pool=mean
    """
    from psitext.cli import early, output, terminal
    from psitext.errors import UserError

    if tokens and (out is None or out.suffix != ".npz"):
        raise UserError("--tokens needs -o with a .npz file")
    early.ending(out, output.STATES, "states")
    _look(texts, model, text, pair, out)
    found, use = _load(model, config, settings)
    examples = _examples(found, texts, text, pair)
    firsts = [example.text for example in examples]
    seconds = [example.pair or "" for example in examples] if examples[0].pair is not None else None
    with output.stopping(f"{len(firsts):,} texts were encoded", out):
        state = found.encode(firsts, seconds, tokens=tokens, precision=use.precision, batch_tokens=use.batch_tokens)
        output.write_states(firsts, state, out)
    terminal.tell_cut(found.longer(firsts, seconds), found, "texts")


def evaluate(
    model: ModelName,
    task: Task = None,
    split: Splits = None,
    data: Data = None,
    baselines: Annotated[
        bool,
        typer.Option("--baselines", help="Also majority and bag of words, trained on the task's train split."),
    ] = False,
    submission: Annotated[
        Path | None, typer.Option("--submission", help="Write GLUE's file for the hidden test split (.zip).")
    ] = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    sentences: Annotated[
        int | None,
        typer.Option(
            "--sentences",
            min=2,
            help="Of a sentence space: how many its likelihood is measured on.",
            show_default=str(SENTENCES),
        ),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            "--draws",
            min=1,
            help="Of a sentence space: latents drawn for the bound of a sentence (K).",
            show_default=str(DRAWS),
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The scores as a .csv, .tsv or .jsonl file, a row for every split; of a sentence space: a folder that "
            "keeps what is done.",
        ),
    ] = None,
    data_dir: DataDir = None,
    config: UseFile = None,
    settings: Settings = None,
) -> None:
    """Score a model on a task's splits or on your own labelled file; a sentence space or language model on sentences.

    Example: psitext evaluate --model runs/sst2 --task sst2 --baselines -o scores.csv
    Example: psitext evaluate --model runs/reviews --data new.csv --text review --label sentiment
    Example: psitext evaluate --model runs/optimus --data sentences.txt
    """
    from psitext.cli import early, output
    from psitext.errors import UserError

    if task is not None:
        early.task_or_data(task)
    columns = columns_given(text, pair, label)
    if submission is not None and (split or data or columns or baselines or out):
        rest = "--split, --data, --text, --pair, --label, --baselines and -o"
        raise UserError(f"--submission answers the test split of a task and scores nothing; {rest} do not go with it")
    read = [data] if data else []
    _look(read, model, text if data else None, pair if data else None, submission, label)
    is_table = out is not None and out.suffix in output.TABLES
    early.output(out, read) if is_table else early.inside(out, "lines.jsonl")
    from psitext.cli.terminal import rows_table
    from psitext.experiments import evaluation

    found, use = _load_whole(model, config, settings)
    if found.writes and found.task is None:
        if task is not None or split or baselines or pair is not None or label is not None:
            of_tasks = "--task, --split, --pair, --label and --baselines"
            raise UserError(f"this model writes and answers no task; {of_tasks} do not go with it")
        if is_table:
            raise UserError(f"of a sentence space, -o is a folder that keeps what is done, not {out}")
        how: _Judged = {
            "sentences": sentences or SENTENCES, "draws": draws or DRAWS, "precision": use.precision, "folder": out
        }  # fmt: skip
        _judge_space(found, model, data, text, data_dir, how)
        return
    if sentences or draws:
        raise UserError("--sentences and --draws are for a sentence space, and this model is none")
    wanted = evaluation.task_of(found, task)
    if submission is not None:
        names = evaluation.write_submission({wanted.name: found}, submission, data_dir)
        typer.echo(f"{submission}: {', '.join(names)}")
        return
    early.ending(out, output.TABLES, "scores")
    if baselines and "train" not in wanted.splits:
        raise UserError(f"--baselines are trained on a task's train split, and {wanted.name} is a file of your own")
    command = f"psitext evaluate --model {shlex.quote(model)}"
    splits = evaluation.labelled_splits(wanted, split, data, data_dir, columns, command)
    if data is not None:
        _tell_counting(data, wanted, columns)
    records = _scored(found, model, splits, use, out, evaluation.rows_of(model, data_dir))
    if baselines:
        with output.stopping("the baselines were trained", out):
            rows = evaluation.baseline_rows(wanted, splits, data_dir)
        rows_table(rows)
        records += [{"model": row["baseline"], "texts": len(splits[row["split"]]), **row} for row in rows]
    if out is not None:
        output.write_scores(records, out)


def _scored(
    found: Model,
    name: str,
    splits: dict[str, list[Example]],
    use: UseConfig,
    out: Path | None,
    train: list[Example] | None,
) -> list[dict[str, Any]]:
    """Score every split, print the table, and say how many of the texts the model was trained on (``train``, None where
    that is not known); a record of each.
    """
    from psitext.cli import output
    from psitext.cli.terminal import score_table
    from psitext.experiments import evaluation

    scores: dict[str, dict[str, float]] = {}
    try:
        for split, examples in splits.items():
            with output.stopping(f"the {len(examples):,} texts of {split} were scored", out):
                scores[split] = found.evaluate(examples, precision=use.precision, batch_tokens=use.batch_tokens)
    finally:
        if scores:  # what is scored is seen, whatever becomes of the rest
            score_table([scores])
    records = []
    for split, values in scores.items():
        count = len(splits[split])
        known = None if train is None else evaluation.learnt(train, splits[split])
        if known:
            which = f"all {count:,}" if known == count else f"{known:,} of the {count:,}"
            among = f"{'is' if known == 1 else 'are'} among those that the model was trained on"
            why = "what a model scores on such texts says little of new ones"
            typer.echo(f"{which} texts of {split} {among}; {why}", err=True)
        record = {"model": name, "split": split, "texts": count, "trained on": known}
        records.append({**record, **values, "collapsed": bool(values["collapsed"])})
    return records


class _Judged(TypedDict):
    """How a sentence space is judged, as ``evaluation.judged_space`` takes it."""

    sentences: int
    draws: int
    precision: Precision
    folder: Path | None


def _judge_space(
    found: Model, name: str, data: str | None, text: str | None, data_dir: Path | None, how: _Judged
) -> None:
    """Print what a space makes of the sentences of a file, of which those too long for its training are left out."""
    from psitext.cli import early
    from psitext.cli.terminal import rows_table
    from psitext.errors import UserError
    from psitext.experiments import evaluation, run
    from psitext.experiments.latents.report import table
    from psitext.experiments.runs.recipes import CorpusConfig

    if data is None:
        raise UserError("a sentence space is judged on sentences; name a file of them with --data")
    early.table(data, text or "text")
    part = CorpusConfig(files=(run.absolute(data),), dir=str(data_dir or Path.cwd()), column=text or "text", lines=True)
    rows_table(table(evaluation.judged_space(found, part, limits=evaluation.trained_limits(name), **how)))
    known = evaluation.learnt_file(name, data)
    if known is not None:
        typer.echo(known, err=True)


def _look(
    texts: list[str], model: str, text: str | None, pair: str | None, out: Path | None, label: str | None = None
) -> None:
    """Refuse what can be refused before the model is loaded."""
    from psitext.cli import early
    from psitext.errors import UserError

    early.model(model)
    early.output(out, texts if _is_file(texts, text) else ())
    columns_given(text, pair, label)
    early.texts_only(texts)
    if _is_file(texts, text):
        if os.path.isdir(texts[0]):  # noqa: PTH112 - it is False, not an error, for a text too long to be a path
            raise UserError(f"{texts[0]} is a folder; name one file with a text column")
        early.table(texts[0], text, pair, label)
        return
    option = "--text" if text is not None else "--pair" if pair is not None else None
    if option is not None:
        raise UserError(f"{option} names a column, so the texts must come from one file")
    path = next(filter(_named_like_a_file, texts), None) if len(texts) > 1 else None
    if path is not None:
        raise UserError(f"{path!r} is a file or folder, not a text; name one file, alone, or texts only")


def _load(model: str, config: str | None, settings: list[str] | None) -> tuple[Model, UseConfig]:
    """The model under the sentence vector that is asked for, maybe without its head."""
    from psitext.model import load

    use = _use(config, settings)
    return load(model, pool=use.pool), use


def _load_whole(model: str, config: str | None, settings: list[str] | None) -> tuple[Model, UseConfig]:
    """The model with its head, and so with the sentence vector that the head reads."""
    from psitext.errors import UserError
    from psitext.model import load

    use = _use(config, settings)
    found = load(model)
    pool = found.encoder.config.pool
    if found.task is not None and use.pool not in (None, pool):
        raise UserError(f"the model's head reads the sentence vector {pool!r}, so pool={use.pool} is for encode only")
    return found, use


def _use(config: str | None, settings: list[str] | None) -> UseConfig:
    from psitext.config import build, read_toml, with_overrides
    from psitext.model.settings import UseConfig

    given = settings or []
    tree = with_overrides(read_toml(Path(config), "settings") if config else {}, given)
    return build(UseConfig, tree, config or "--set", given)


def _is_file(texts: list[str], text: str | None) -> bool:
    """One argument that is a file's name, or from which a column is wanted, is read as a table."""
    from psitext.text.rows import HUB, named_like_a_table

    if len(texts) != 1:
        return False
    named = named_like_a_table(texts[0]) or texts[0].startswith(HUB)
    return text is not None or named or os.path.exists(texts[0])  # noqa: PTH110 - False for a text too long


def _named_like_a_file(text: str) -> bool:
    """Among several texts: what is there as a file or folder, or is one word with a table's ending."""
    from psitext.text.rows import named_like_a_table

    table = named_like_a_table(text) and not any(sign.isspace() for sign in text)
    return table or os.path.exists(text)  # noqa: PTH110 - False for a text too long


def _tell_unknown(examples: list[Example], model: Model) -> None:
    """Say how many texts hold no word that a model of words in time knows; what it says of them is its prior."""
    from psitext.encoders.words import WordReader

    if not isinstance(model.encoder, WordReader):
        return
    unknown = model.tokenizer.unk
    strange = sum(bool((ids == unknown).all()) for ids in model.tokenizer.encode([one.text for one in examples]))
    if strange:
        which = f"{strange:,} of {len(examples):,} texts " + ("holds" if strange == 1 else "hold")
        typer.echo(f"{which} no word that the model knows; what it says of such a text is its prior", err=True)


def _tell_counting(path: str, task: AnyTask, columns: Mapping[str, str | None]) -> None:
    """Say of a table whose columns are counted, by the options or as in the task, that its first line is a row."""
    from psitext.cli.terminal import tell_counting

    wanted = {"text": task.text, "pair": task.pair, "label": task.label} | dict(columns)
    tell_counting(path, wanted["text"], wanted["pair"], wanted["label"])


def _examples(model: Model, texts: list[str], text: str | None, pair: str | None) -> list[Example]:
    """The texts as examples, from the named columns of a file or as they are."""
    from psitext.model import PLAIN
    from psitext.text.examples import Example
    from psitext.text.tasks import load_like

    if _is_file(texts, text):
        task = model.task or PLAIN
        columns = {"text": text or task.text, "pair": pair or task.pair}
        found = load_like(texts[0], task.model_copy(update=columns), labelled=False)
        _tell_counting(texts[0], task.model_copy(update={"label": None}), columns)
        return found
    return [Example(text=value, words=tuple(value.split()), line=number) for number, value in enumerate(texts, 1)]


COMMANDS = (predict, encode, evaluate)
