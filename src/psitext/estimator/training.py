"""From an estimator's parameters to a run of ``experiments.finetune``, which leaves nothing behind."""

from __future__ import annotations

import math
import os
import threading
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from psitext.config import read_recipe
from psitext.encoders.vae import NothingConfig
from psitext.encoders.words import WordsConfig
from psitext.errors import Unfit, Unknown
from psitext.estimator.parameters import KEYS, as_settings, check_fits, check_parameters
from psitext.estimator.texts import EstimatorError
from psitext.experiments.finetune import Labelled, finetune_run
from psitext.experiments.run import finetune_recipe
from psitext.experiments.runs.folder import Stopped, Taken
from psitext.experiments.runs.recipes import FinetuneRecipe
from psitext.model import Model, load
from psitext.randomness import generator
from psitext.train.budget import MOST_EPOCHS
from psitext.train.loop import Event, Hook
from psitext.train.settings import BUDGETS

# Families that start from nothing: the recipe of their training, and the one that has their sizes where it is another.
FROM_NOTHING = {
    "rac": ("rac", "rac"),
    "recurrent": ("rac-recurrent", "rac-recurrent"),
    "vectors": ("rac-vectors", "rac-vectors"),
    "qcls": ("qcls-end2end", "qcls-end2end"),
    "bert": ("qcls-transformer", "bert-tiny"),
    "qbert": ("qcls-transformer", "qbert-tiny"),
    "cvbert": ("qcls-transformer", "cvbert-tiny"),
}
# Without lr, epochs: a small encoder takes larger steps than the BERTs that 5e-5 is for; few rows are read more often.
NARROW, NARROW_LR = 256, 1e-3
WORDS_LR = 5e-3  # of encoders of word vectors, as their recipes have it
LEAST_STEPS = {"rac": 400, "recurrent": 400, "vectors": 400}
USUAL_LEAST_STEPS = 150
NEVER = 10**9  # steps between checkpoints of a run whose folder goes with it
LEAST_TO_CALIBRATE = 50  # held-out rows below which a temperature says more of their luck than of the model

_ALONE = threading.Lock()  # torch has one generator for all threads of a process, and a training sets it


def trained(estimator: Any, data: Labelled, seed: int) -> Model:
    """The model that a run with the estimator's parameters makes of the rows.

    Its folder is a temporary one, which is gone afterwards however that came about, or ``run_folder``.
    Errors: KeyboardInterrupt, when it was asked to stop.
    """
    hooks = [_printer(type(estimator).__name__)] if estimator.verbose else []
    with _ALONE, ExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="psitext-")))
        kept = estimator.run_folder
        recipe = _recipe(estimator, _start(estimator.encoder, kept, place), seed, data)
        try:
            return finetune_run(recipe, place / "run" if kept is None else Path(kept), hooks, data)
        except Stopped as stopped:  # an Exception would make a search score it, and go on with the next one
            after = "" if stopped.step is None else f" after step {stopped.step:,}"
            how = "" if kept is None else f"; fit again with run_folder={str(kept)!r} to go on from there"
            raise KeyboardInterrupt(f"stopped{after}{how}") from None
        except Taken as error:
            raise EstimatorError(f"{error.what}; name another one as run_folder") from error


def held_out(order_by: npt.NDArray[Any], share: float, seed: int) -> npt.NDArray[np.bool_]:
    """(n,) True on a share of the rows, spread evenly over ``order_by``, which holds classes or scores.

    No class is taken whole, so the share is at most a half. Fewer rows than half a one are none.
    """
    count = len(order_by)
    wanted = math.floor(count * share + 0.5)
    drawn = generator(seed, "held out").permutation(count)
    order = drawn[np.argsort(order_by[drawn], kind="stable")]
    picks = order[((np.arange(wanted) + 0.5) * count / max(wanted, 1)).astype(np.int64)]
    mask = np.zeros(count, dtype=np.bool_)
    mask[picks] = True
    if order_by.dtype.kind != "f":  # the only row of a class stays to be learnt from
        alone = np.bincount(order_by)[order_by] == 1
        mask &= ~alone
    return mask


def _start(encoder: object, kept: object, place: Path) -> str:
    """The name or folder that the encoder is found by."""
    if isinstance(encoder, Model):
        if kept is not None:
            raise EstimatorError(
                "a run in run_folder must find its encoder again when it goes on; save the Model, and give its folder"
            )
        return str(encoder.save(place / "encoder"))
    if not isinstance(encoder, str | os.PathLike):
        raise EstimatorError(
            f"encoder is a {type(encoder).__name__}; it is the name or folder of a model, hf:<folder>, a Model, or a "
            f"family to start from nothing: {', '.join(FROM_NOTHING)}"
        )
    return str(encoder)


def _recipe(estimator: Any, encoder: str, seed: int, data: Labelled) -> FinetuneRecipe:
    leaves = check_parameters(estimator)
    given = {name: getattr(estimator, name) for name in KEYS if getattr(estimator, name) is not None}
    max_len = given.get("max_len")
    if encoder in FROM_NOTHING:
        check_fits(encoder, None, given.get("pool"), max_len)
        reads = _sizes(encoder, max_len)
    else:
        name = "the Model" if isinstance(estimator.encoder, Model) else encoder
        reads = _manner(encoder, name, given.get("pool"), given.get("max_len", leaves.get("text.max_len")))
    named = {
        "name": type(estimator).__name__,
        "calibrate": sum(map(len, data.dev.values())) >= LEAST_TO_CALIBRATE,
        "train.precision": "fp32",
        **({"train.checkpoint_every": NEVER} if estimator.run_folder is None else {}),
        **reads,
        **{KEYS[name]: value for name, value in given.items()},
    }
    recipe = _complete(encoder, seed, [*as_settings(named), *as_settings(leaves)])
    train = recipe.train
    if "epochs" in given or any(f"train.{name}" in leaves for name in BUDGETS):
        return recipe
    assert train.epochs is not None
    least = LEAST_STEPS.get(encoder, USUAL_LEAST_STEPS) * (train.batch_sequences or 1) / len(data.train)
    return recipe.model_copy(update={"train": train.with_budget(epochs=max(train.epochs, min(least, MOST_EPOCHS)))})


def _complete(encoder: str, seed: int, settings: list[str]) -> FinetuneRecipe:
    """The recipe under these settings. Errors: a key or value of the user's settings, since all else is checked."""
    fresh = encoder in FROM_NOTHING
    base = FROM_NOTHING[encoder][0] if fresh else "finetune"
    try:
        return finetune_recipe(None, init=None if fresh else encoder, config=base, seed=seed, settings=settings)
    except Unfit as error:
        own = error.origin in (base, "--set")
        raise EstimatorError(str(Unfit("settings", error.complaint) if own else error)) from error


def _sizes(family: str, max_len: int | None) -> dict[str, Any]:
    """The encoder and tokenizer of a family that starts from nothing."""
    tree = read_recipe(FROM_NOTHING[family][1])
    found: dict[str, Any] = {key: tree[key] for key in ("encoder", "tokenizer") if key in tree}
    return found if max_len is None else {**found, "encoder.max_len": max_len}


def _manner(encoder: str, name: str, pool: str | None, max_len: int | None) -> dict[str, Any]:
    """How a pre-trained encoder reads texts, and the learning rate of a small one. Errors: no such model; parameters
    that do not fit it.
    """
    try:
        found = load(encoder)
    except Unknown as error:
        raise EstimatorError(error.among(FROM_NOTHING)) from error
    config = found.network.encoder.config
    if not isinstance(config, NothingConfig):  # a language model, which is refused where it is read
        check_fits(name, found, pool, max_len)
    reads = {"text.keep": found.text.keep, "text.unknown": found.text.unknown}
    if isinstance(config, WordsConfig):
        return {**reads, "train.optim.lr": WORDS_LR}
    return {**reads, "train.optim.lr": NARROW_LR} if getattr(config, "width", NARROW) < NARROW else reads


def _printer(name: str) -> Hook:
    def tell(event: Event) -> None:
        numbers = [f"{key} {value:.4g}" for key, value in event.items() if isinstance(value, float)]
        print(f"[{name}] {event['kind']}: step {event['step']}, {', '.join(numbers)}", flush=True)

    return tell
