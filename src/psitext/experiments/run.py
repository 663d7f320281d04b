"""The calls of the public API: ``pretrain`` and ``finetune`` in a line, ``resume`` from a folder alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from psitext.config import MAX_INT, read_recipe, usual_pretraining, wrote
from psitext.errors import Unfit, UserError
from psitext.experiments.autoencode import autoencode_run
from psitext.experiments.dialog import respond_run
from psitext.experiments.evaluation import baseline_scores
from psitext.experiments.finetune import finetune_run, read_labelled
from psitext.experiments.pretrain import pretrain_run, pretraining_recipe
from psitext.experiments.runs.folder import RunFolder, no_run
from psitext.experiments.runs.recipes import (
    AutoencodeRecipe,
    FinetuneRecipe,
    PretrainRecipe,
    RespondRecipe,
    resolve_recipe,
    written,
)
from psitext.experiments.runs.tensorboard import TensorBoard
from psitext.model import Model, load
from psitext.text.tables import check_source
from psitext.train.loop import Hook

P = TypeVar("P", PretrainRecipe, AutoencodeRecipe)
A = TypeVar("A", PretrainRecipe, FinetuneRecipe, AutoencodeRecipe)

RUNS = Path("runs")
FRESH = {"rac": "rac"}  # families that start from nothing on a task, and the recipe of each
LENT = "rac-words"  # the recipe of one that reads another model's words


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and its model."""

    folder: Path
    model: Model


def pretrain(
    config: str | None = None,
    *,
    data: str | Path | Sequence[str | Path] = (),
    text: str | None = None,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    init: str | Path | Run | None = None,
    encoder: str | None = None,
    decoder: str | None = None,
    settings: Sequence[str] = (),
    hooks: Sequence[Hook] = (),
    tensorboard: bool = False,
) -> Run:
    """Pre-train by a recipe (a name that ``psitext recipes`` lists, or a TOML file) on text files.

    ``init`` names a model to go on from, by hf:<folder or hub id>, a run, a model's folder or name: its encoder and
    tokenizer count, and of its pre-training heads those that the recipe has, too. The usual recipe is then ``adapt``.
    ``encoder`` and ``decoder`` name the halves of an autoencoder: a BERT and a causal language model, each by
    hf:<folder or hub id> or by a run of psitext.
    ``text`` names the column of tables; ``data_dir`` is where a recipe's own relative paths start. ``minutes``
    takes the place of the recipe's budget; ``settings`` are ``"a.b=value"`` strings laid over the recipe; ``hooks``
    are called with every event of the training. A run that is already in ``out`` is gone on with, a finished one is
    returned as it is.
    """
    _check_types(settings, hooks, config=config, data_dir=data_dir, out=out)
    files = _files(data)
    given: dict[str, Any] = {} if init is None else {"init": str(init.folder if isinstance(init, Run) else init)}
    if files:
        given["corpus"] = [{"files": [absolute(name) for name in files], **({"column": text} if text else {})}]
    train = {key: value for key, value in (("minutes", minutes), ("seed", seed)) if value is not None}
    given |= {"train": train} if train else {}
    halves = {"encoder_from": encoder, "decoder_from": decoder}
    given |= {key: name for key, name in halves.items() if name is not None}
    config = config or usual_pretraining(init=init is not None, halves=bool(encoder or decoder))
    if (encoder or decoder) and read_recipe(config).get("verb") != "autoencode":
        raise UserError(
            f"encoder and decoder are the halves of a sentence space, and {config} is a recipe of another kind"
        )
    recipe = pretraining_recipe(config, settings, given)
    assert isinstance(recipe, PretrainRecipe | AutoencodeRecipe)
    if not recipe.corpus:
        raise UserError(
            "there is no text to pre-train on; name files with --data (or a [[corpus]] table in the recipe)"
        )
    folder = Path(out) if out is not None else RUNS / recipe.name
    watched = _watched(hooks, tensorboard, folder)
    if isinstance(recipe, AutoencodeRecipe):
        return Run(folder, _pretrained(_anchored(with_data_dir(recipe, data_dir)), folder, watched))
    return Run(folder, _pretrained(_anchored(with_data_dir(recipe, data_dir)), folder, watched))


def _pretrained(recipe: PretrainRecipe | AutoencodeRecipe, folder: Path, hooks: Sequence[Hook]) -> Model:
    if isinstance(recipe, AutoencodeRecipe):
        return autoencode_run(recipe, folder, hooks)
    return pretrain_run(recipe, folder, hooks)


def finetune(
    task: str | None = None,
    *,
    init: str | Path | Run | None = None,
    encoder: str | None = None,
    words: str | Path | Run | None = None,
    head: str | None = None,
    config: str | None = None,
    data: str | Path | None = None,
    dev: str | Path | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    data_dir: str | Path | None = None,
    out: str | Path | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
    hooks: Sequence[Hook] = (),
    tensorboard: bool = False,
) -> Model:
    """Fine-tune for a task by name, or on a file with a text and a label column; returns the model with the best
    dev score.

    ``encoder`` ("qbert", "cvbert") makes a real BERT complex first, or ("rac") starts one from nothing by its recipe,
    on words of its own or on the token vectors of the model that ``words`` names;
    ``head`` ("affine", "measurement", "modulus") is what reads a text's state, by default the one that is usual for the
    encoder's family. ``minutes`` takes the place of the recipe's budget.
    """
    recipe = finetune_recipe(
        task, init=init, encoder=encoder, words=words, head=head, config=config, data=data, dev=dev, text=text,
        pair=pair, label=label, data_dir=data_dir, minutes=minutes, seed=seed, settings=settings,
    )  # fmt: skip
    _check_types(hooks=hooks, out=out)
    return finetune_as(recipe, Path(out) if out is not None else default_folder(recipe), hooks, tensorboard)


def finetune_as(recipe: FinetuneRecipe, folder: Path, hooks: Sequence[Hook] = (), tensorboard: bool = False) -> Model:
    """Fine-tune by a complete recipe."""
    return finetune_run(recipe, folder, _watched(hooks, tensorboard, folder))


def default_folder(recipe: FinetuneRecipe) -> Path:
    """Where a fine-tuning goes that is given no place: named by its task or its file."""
    return RUNS / Path(recipe.task or recipe.data.train or recipe.name).name.split(".")[0]


def finetune_recipe(
    task: str | None,
    *,
    init: str | Path | Run | None = None,
    encoder: str | None = None,
    words: str | Path | Run | None = None,
    head: str | None = None,
    config: str | None = None,
    data: str | Path | None = None,
    dev: str | Path | None = None,
    text: str | None = None,
    pair: str | None = None,
    label: str | None = None,
    data_dir: str | Path | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    settings: Sequence[str] = (),
) -> FinetuneRecipe:
    """The recipe that ``finetune`` runs, checked and complete. Errors: what a recipe refuses; a ``text.max_len`` of the
    caller's that is more than the encoder reads.
    """
    _check_types(settings, config=config, data=data, dev=dev, data_dir=data_dir)
    check_source(task, {"data": data, "dev": dev, "text": text, "pair": pair, "label": label})
    if isinstance(init, Model):
        raise UserError("init takes a path, a name or a Run, not a Model; save it first and give its folder")
    for key, model in (("init", init), ("words", words)):
        if not isinstance(model, Run):
            _check_types(**{key: model})
    columns = {
        "train": None if data is None else absolute(data),
        "dev": None if dev is None else absolute(dev),
        "dir": None if data_dir is None else absolute(data_dir),
        "text": text,
        "pair": pair,
        "label": label,
    }
    given: dict[str, Any] = {"data": {key: value for key, value in columns.items() if value is not None}}
    if data is not None:  # of the two, what is given takes the place of what the recipe says
        given["task"] = None
    if task is not None:
        given["task"] = task
        given["data"] |= {"train": None, "dev": None}
    if init is not None:
        given["init"] = str(init.folder if isinstance(init, Run) else init)
    if words is not None:
        given["words_from"] = str(words.folder if isinstance(words, Run) else words)
        config = config or (LENT if encoder in FRESH else None)
    if encoder in FRESH:
        given["encoder"] = {"family": encoder}
        config = config or FRESH[encoder]
    elif encoder is not None:
        given["lift"] = {"into": encoder}
    if head is not None:
        given["head"] = {"kind": head}
    train = {key: value for key, value in (("minutes", minutes), ("seed", seed)) if value is not None}
    given |= {"train": train} if train else {}
    recipe = resolve_recipe("finetune", config or "finetune", settings, given)
    assert isinstance(recipe, FinetuneRecipe)
    recipe = _anchored(recipe)
    _check_length(recipe, config, settings)
    return recipe


def _check_length(recipe: FinetuneRecipe, config: str | None, settings: Sequence[str]) -> None:
    """Refuse longer texts than the encoder has places for, where the caller has asked for them: a recipe that ships is
    for encoders of any length, and is cut to theirs.
    """
    text = written(config, settings).get("text")
    if not isinstance(text, Mapping) or "max_len" not in text:
        return
    start = None if recipe.init is None else load(recipe.init, pool=recipe.pool).network.encoder.config
    longest = getattr(recipe.encoder if recipe.init is None else start, "max_len", None)
    if longest is None or recipe.text.max_len <= longest:
        return
    what = "the encoder (encoder.max_len)" if start is None else "the model of --init"
    complaint = f" sets text.max_len to {recipe.text.max_len:,}: {what} reads {longest:,} tokens at most"
    raise Unfit(wrote(config or "", ("text", "max_len"), settings), complaint)


def with_seed(recipe: FinetuneRecipe, seed: int) -> FinetuneRecipe:
    """The same recipe under another seed."""
    if seed > MAX_INT:
        raise UserError(f"seeds go up to {MAX_INT}, not to {seed}")
    return recipe.model_copy(update={"train": recipe.train.model_copy(update={"seed": seed})})


def with_data_dir(recipe: P, data_dir: str | Path | None) -> P:
    """The recipe with a place to start from for every part of its corpus that names none."""
    start = absolute(data_dir if data_dir is not None else Path())
    parts = tuple(part if part.dir else part.model_copy(update={"dir": start}) for part in recipe.corpus)
    return recipe.model_copy(update={"corpus": parts})


def resume(folder: str | Path, hooks: Sequence[Hook] = (), tensorboard: bool = False) -> Model:
    """Go on with the run in a folder, from its newest good checkpoint; its frozen recipe says all that is needed."""
    path = Path(folder)
    recipe = RunFolder(path).recipe()
    if recipe is None:
        raise no_run(path, " to go on with")
    if isinstance(recipe, FinetuneRecipe):
        return finetune_as(recipe, path, hooks, tensorboard)
    if isinstance(recipe, RespondRecipe):
        respond_run(recipe, path, _watched(hooks, tensorboard, path))
        return load(path)
    return _pretrained(recipe, path, _watched(hooks, tensorboard, path))


def baseline_rows(recipe: FinetuneRecipe) -> list[dict[str, Any]]:
    """What majority and bag of words reach on the data of a recipe: a row for each of them and each dev split."""
    data = read_labelled(recipe)
    return baseline_scores(data.task, data.train, data.dev)


def _check_types(settings: object = (), hooks: object = (), **names: object) -> None:
    """Refuse what Python calls can give and the command line cannot: other things than names, paths and lists."""
    for key, value in names.items():
        if value is not None and not isinstance(value, str | os.PathLike):
            raise UserError(f"{key} takes a name or a path, not a {type(value).__name__}")
    if not isinstance(settings, list | tuple) or not all(isinstance(one, str) for one in settings):
        raise UserError('settings is a list of strings such as ["train.steps=100"]')
    if not isinstance(hooks, list | tuple) or not all(callable(one) for one in hooks):
        raise UserError("hooks is a list of functions that take an event")


def _files(data: object) -> list[str | Path]:
    """The files that ``data`` names, one or several."""
    if isinstance(data, str | Path):
        return [data]
    files = list(data) if isinstance(data, Iterable) and not isinstance(data, Mapping) else [data]
    named = [name for name in files if isinstance(name, str | Path)]
    if len(named) < len(files):
        raise UserError(f"data takes a path or a list of paths, not a {type(data).__name__}")
    return named


def absolute(name: str | Path) -> str:
    """A path that still holds when the run is resumed from elsewhere; hub and toy names stay as they are."""
    text = str(name)
    return text if text.startswith(("hub:", "toy:", "corpus:")) else str(Path(text).absolute())


def _anchored(recipe: A) -> A:
    """The recipe with paths that hold from anywhere; names that are no path here stay as they are."""

    def there(name: str | None) -> str | None:
        prefix, path = ("hf:", (name or "")[3:]) if (name or "").startswith("hf:") else ("", name or "")
        return f"{prefix}{Path(path).absolute()}" if path and Path(path).exists() else name

    tokenizer = recipe.tokenizer.model_copy(update={"load": there(recipe.tokenizer.load)})
    changes: dict[str, Any] = {"init": there(recipe.init), "tokenizer": tokenizer}
    if isinstance(recipe, AutoencodeRecipe):
        changes["writer"] = recipe.writer.model_copy(update={"load": there(recipe.writer.load)})
        changes |= {key: there(getattr(recipe, key)) for key in ("encoder_from", "decoder_from")}
    if isinstance(recipe, FinetuneRecipe):
        files = {key: there(getattr(recipe.data, key)) for key in ("train", "dev", "dir")}
        task = there(recipe.task) if (recipe.task or "").endswith(".toml") else recipe.task
        words = there(recipe.words_from)
        changes |= {"data": recipe.data.model_copy(update=files), "task": task, "words_from": words}
    return recipe.model_copy(update=changes)


def _watched(hooks: Sequence[Hook], tensorboard: bool, folder: Path) -> Sequence[Hook]:
    return [*hooks, TensorBoard(folder / "tensorboard")] if tensorboard else hooks
