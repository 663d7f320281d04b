"""Verbs that train: pretrain, finetune, resume."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from psitext.cli.options import (
    FRESH,
    HEADS,
    LENT,
    LIFTED,
    Config,
    DataDir,
    Label,
    Out,
    Pair,
    Seed,
    Settings,
    TensorBoard,
    Text,
)


def pretrain(
    config: Config = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            help="Text files (plain, TSV, CSV, JSONL, Parquet; .gz, .zst), hub:<name>, or toy:<stories>.",
        ),
    ] = None,
    more: Annotated[
        list[str] | None, typer.Argument(metavar="[FILES]", help="More text files: --data books/*.txt works.")
    ] = None,
    text: Text = None,
    data_dir: DataDir = None,
    out: Out = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, help="Time budget; takes the place of the recipe's."),
    ] = None,
    seed: Seed = None,
    init: Annotated[
        str | None,
        typer.Option("--init", help="Go on from a run, a model's folder or name, or hf:<folder or hub id>."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", help="Of an autoencoder: the BERT it reads with (hf:<folder or hub id>, a run)."),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            "--decoder", help="Of an autoencoder: the causal language model it writes with (hf:<...>, a run)."
        ),
    ] = None,
    settings: Settings = None,
    tensorboard: TensorBoard = False,
) -> None:
    """Pre-train on text: masked words and next sentences, or a sentence space to write from, or a language model.

    Example: psitext pretrain --config bert-mini --data books/*.txt --minutes 30 --out runs/books
    Example: psitext pretrain --init hf:my-bert --data reviews.txt --out runs/adapted
    Example: psitext pretrain --config optimus-mini --data sentences.txt --encoder hf:my-bert --decoder runs/gpt2-mini
    """
    from psitext.cli import early
    from psitext.config import usual_pretraining

    halves = bool(encoder or decoder)
    early.recipe(config or usual_pretraining(init=init is not None, halves=halves), settings or [])
    for model in (init, encoder, decoder):
        if model is not None:
            early.model(model)
    from psitext.cli.terminal import shown, tell_notes
    from psitext.experiments import run

    files = [*(data or []), *(more or [])]
    with shown("pretrain") as hook:
        result = run.pretrain(
            config, data=files, text=text, data_dir=data_dir, out=out, minutes=minutes, seed=seed, init=init,
            encoder=encoder, decoder=decoder, settings=settings or [], hooks=[hook], tensorboard=tensorboard,
        )  # fmt: skip
    tell_notes(result.folder)
    typer.echo(f"model: {result.folder / 'model'}")
    follows = "generate sample --model" if result.model.writes else "finetune --task toy-sentiment --init"
    typer.echo(f"next: psitext {follows} {shlex.quote(str(result.folder))}")


def finetune(
    task: Annotated[
        str | None, typer.Option("--task", help="A task that `psitext tasks` lists, or a TOML file.")
    ] = None,
    init: Annotated[
        str | None, typer.Option("--init", help="Start from a run, a model folder, or hf:<folder or hub id>.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            help="qbert, cvbert: the BERT of --init made complex, the same function at first; rac: one from nothing.",
        ),
    ] = None,
    words: Annotated[
        str | None,
        typer.Option("--words", help="Of a rac: the model whose token vectors it reads, with its tokenizer."),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", help="What reads a text's state: affine, measurement or modulus."),
    ] = None,
    config: Config = None,
    data: Annotated[
        str | None, typer.Option("--data", help="A labelled file of your own (or hub:<name>), in place of a task.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option("--dev", help="Its development file; without one a tenth is held out.")
    ] = None,
    text: Text = None,
    pair: Pair = None,
    label: Label = None,
    out: Out = None,
    minutes: Annotated[
        float | None,
        typer.Option("--minutes", min=0.01, help="Time budget of each seed; takes the place of the recipe's."),
    ] = None,
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="How many seeds to train, counted up from --seed.")] = 1,
    seed: Seed = None,
    baselines: Annotated[
        bool, typer.Option("--baselines", help="Also majority and bag of words; several seeds always show them.")
    ] = False,
    data_dir: DataDir = None,
    settings: Settings = None,
    tensorboard: TensorBoard = False,
) -> None:
    """Fine-tune an encoder on a task or on your own labelled file.

    Example: psitext finetune --data train.csv --text review --label sentiment --init runs/books
    Example: psitext finetune --task sst2 --encoder qbert --init hf:my-bert-folder
    """
    from psitext.cli import early

    early.choice("--encoder", encoder, (*LIFTED, *FRESH))
    fresh = (LENT if words else encoder) if encoder in FRESH else None
    tree = early.recipe(config or fresh or "finetune", settings or [])
    early.labelled(tree, task, {"train": data, "dev": dev, "text": text, "pair": pair, "label": label})
    for name in (init, words):
        if name is not None:
            early.model(name)
    early.choice("--head", head, HEADS)
    from psitext.cli.terminal import rows_table, score_table, shown, tell_counting, tell_notes
    from psitext.experiments import run
    from psitext.experiments.runs.folder import RunFolder, Stopped
    from psitext.files import Unwritten

    recipe = run.finetune_recipe(
        task, init=init, encoder=encoder, words=words, head=head, config=config, data=data, dev=dev, text=text,
        pair=pair, label=label, data_dir=data_dir, minutes=minutes, seed=seed, settings=settings or [],
    )  # fmt: skip
    if recipe.data.train is not None:
        tell_counting(data or recipe.data.train, recipe.data.text, recipe.data.pair, recipe.data.label)
    base = out or run.default_folder(recipe)
    results: list[Mapping[str, Mapping[str, float]]] = []
    for number in range(recipe.train.seed, recipe.train.seed + seeds):
        folder = base / f"seed-{number}" if seeds > 1 else base
        with shown(f"finetune, seed {number}") as hook:
            try:
                run.finetune_as(run.with_seed(recipe, number), folder, [hook], tensorboard=tensorboard)
            except Stopped as stopped:
                if seeds == 1:
                    raise
                raise Stopped(folder, stopped.step, f"the same command, with all {seeds} seeds,") from None
            except Unwritten as full:
                if not results:
                    raise
                left = f"the runs in {base} are kept, and the same command, with all {seeds} seeds, goes on with them"
                raise Unwritten(full.path, full.why, left) from None
        if not results:
            tell_notes(folder)
        results.append(RunFolder(folder).result()["scores"])
        typer.echo(f"model: {folder / 'model'}")
    score_table(results)
    if baselines or seeds > 1:
        rows_table(run.baseline_rows(recipe))


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run that was stopped.")],
    tensorboard: TensorBoard = False,
) -> None:
    """Go on with a stopped run, exactly, from its last checkpoint.

    Example: psitext resume runs/books
    """
    from psitext.errors import UserError

    if not (folder / "recipe.json").is_file() and not any(folder.glob("seed-*/recipe.json")):
        raise UserError(f"{folder} holds no run to go on with: it has no recipe.json")
    from psitext.cli.terminal import score_table, shown, tell_notes
    from psitext.experiments import run
    from psitext.experiments.runs.folder import RunFolder

    with shown("resume") as hook:
        run.resume(folder, hooks=[hook], tensorboard=tensorboard)
    tell_notes(folder)
    typer.echo(f"model: {folder / 'model'}")
    scores = RunFolder(folder).result().get("scores")
    if scores:
        score_table([scores])


COMMANDS = (pretrain, finetune, resume)
