"""The parameters of an estimator, checked under the names that its user wrote."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_args

import numpy as np

from psitext.assemble import ENCODERS, HEADS
from psitext.config import MAX_INT
from psitext.encoders.vae import Vae
from psitext.errors import near
from psitext.estimator.texts import EstimatorError
from psitext.model import Model
from psitext.train.budget import MOST_EPOCHS
from psitext.train.settings import BUDGETS

# The names of a constructor's parameters, and of a recipe's.
KEYS = {
    "head": "head.kind",
    "pool": "pool",
    "epochs": "train.epochs",
    "lr": "train.optim.lr",
    "batch_size": "train.batch_sequences",
    "max_len": "text.max_len",
}
POOLS = ("cls", "mean", "pooled")
MOST_RATE = 1e9  # as OptimConfig.lr
SHORTEST = 8  # tokens of the least max_len
# Keys of a recipe that say what a parameter says, besides its own.
SAME = {
    "epochs": tuple(f"train.{name}" for name in BUDGETS),
    "batch_size": ("train.batch_tokens",),
    "pool": ("encoder.pool",),
    "max_len": ("encoder.max_len",),
    "head": ("head",),
}
# Keys that are never for settings, since these parameters always say them.
ELSEWHERE = {"train.seed": "random_state", "init": "encoder", "encoder.family": "encoder"}
ROWS = ("data", "task")  # keys of where rows come from
JUDGED = ("train.patience", "calibrate")  # keys that mean nothing where no rows are held out


def check_parameters(estimator: Any) -> dict[str, Any]:
    """Check the named parameters and settings of a classifier or regressor; returns the settings as leaves,
    ``{"a.b": value}``. Errors: EstimatorError, in a sentence that names the parameter.
    """
    check_one_of("head", estimator.head, HEADS)
    check_one_of("pool", estimator.pool, POOLS)
    for name, kind, least, what in (
        ("epochs", Real, 0, f"a number above 0, up to {MOST_EPOCHS:,.0f}"),
        ("lr", Real, 0, f"a number above 0, up to {MOST_RATE:,.0f}"),
        ("batch_size", Integral, 0, "a whole number of texts, 1 or more"),
        ("max_len", Integral, SHORTEST - 1, f"a whole number of tokens, {SHORTEST} or more"),
    ):
        value = getattr(estimator, name)
        most = {"epochs": MOST_EPOCHS, "lr": MOST_RATE}.get(name, MAX_INT)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, kind) or not least < value <= most  # type: ignore[operator]
        ):
            raise EstimatorError(f"{name} is {value!r:.40}; it is {what}, or None")
    check_share(estimator.validation_fraction)
    _check_run_folder(estimator.run_folder)
    leaves = dict(_leaves(_mapping(estimator.settings)))
    _check_settings(estimator, leaves)
    return leaves


def check_one_of(name: str, value: object, known: Iterable[str]) -> None:
    """A parameter that is one of these names, or None."""
    if value is not None and value not in list(known):
        meant = near(value, known) if isinstance(value, str) else ""
        listed = f"; it is one of {', '.join(known)}, or None"
        raise EstimatorError(f"{name} is {value!r:.40}{meant or listed}")


def check_share(share: object) -> float:
    """``validation_fraction``, if it is one."""
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share <= 0.5:
        raise EstimatorError(f"validation_fraction is {share!r:.40}; it is a share of the rows from 0 to 0.5")
    return float(share)


def seed_of(random_state: object) -> int:
    """A run's seed: the number itself, one drawn from a generator, or for None one that nobody has seen before.

    numpy's global generator is neither read nor moved.
    """
    if isinstance(random_state, bool) or not isinstance(
        random_state, int | np.integer | np.random.RandomState | np.random.Generator | None
    ):
        raise EstimatorError(
            f"random_state is {random_state!r:.40}; it is a whole number, None, or one of numpy's generators"
        )
    if random_state is None:
        return int.from_bytes(os.urandom(4), "big")
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if random_state < 0:
        raise EstimatorError(f"random_state is {random_state}; seeds are 0 or more")
    return int(random_state)


def check_folder(name: str, folder: object) -> Path:
    """A place for ``save``, ``load`` or ``run_folder``. Errors: something that is no path, or an empty one."""
    if not isinstance(folder, str | os.PathLike):
        raise EstimatorError(f"{name} takes the path of a folder, not a {type(folder).__name__}")
    if not os.fspath(folder):
        raise EstimatorError(f"{name} takes the path of a folder, and this one is empty")
    return Path(folder)


def check_fits(encoder: str, found: Model | None, pool: str | None, max_len: int | None) -> None:
    """Refuse a sentence vector that an encoder has not, and more tokens than it has positions for; ``found`` is None
    of a family that starts from nothing, which is made as long as it is asked to be.
    """
    whole: Any = None if found is None else found.network.encoder
    inside = whole.trunk if isinstance(whole, Vae) else whole  # which is what another pool than its own reads
    kind = ENCODERS[encoder][0] if found is None else type(inside.config)
    have = get_args(kind.model_fields["pool"].annotation) if "pool" in kind.model_fields else ()
    known = [name for name in POOLS if name in have]
    if pool is not None and pool not in known:
        right = f"it is {' or '.join(map(repr, known))} there" if known else "leave it out, since there is only one"
        raise EstimatorError(f"pool is {pool!r}, which is no sentence vector of {encoder}; {right}")
    longest = getattr(getattr(whole, "config", None), "max_len", None)
    if longest is not None and max_len is not None and max_len > longest:
        raise EstimatorError(
            f"max_len is {max_len:,}, and {encoder} reads {longest:,} tokens at most; give that, or less"
        )


def as_settings(leaves: Mapping[str, Any]) -> list[str]:
    """``"a.b=value"`` for every leaf, as ``--set`` takes it."""
    return [f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in _leaves(leaves)]


def _check_run_folder(given: object) -> None:
    if given is not None and check_folder("run_folder", given).is_file():
        raise EstimatorError(f"run_folder is {given}, which is a file; name a folder")


def _check_settings(estimator: Any, leaves: Mapping[str, Any]) -> None:
    """Refuse keys that say again, or against it, what a parameter or the rows say."""
    for key in leaves:
        if key.partition(".")[0] in ROWS:
            raise EstimatorError(f"settings has {key!r}, which says where rows come from; here X and y are the rows")
        if key in ELSEWHERE:
            raise EstimatorError(f"settings has {key!r}, which is what {ELSEWHERE[key]} says; leave it out")
        if key in JUDGED and leaves[key] and not estimator.validation_fraction:
            raise EstimatorError(
                f"settings has {key!r}, which needs rows to judge by; set validation_fraction above 0, or leave it out"
            )
    for name, own in KEYS.items():
        value = getattr(estimator, name)
        twice = [] if value is None else [key for key in (own, *SAME.get(name, ())) if key in leaves]
        if twice:
            raise EstimatorError(
                f"{name} is {value!r:.40} and settings has {twice[0]!r}, which say the same thing twice; leave one of "
                "them out"
            )


def _mapping(settings: object) -> Mapping[str, Any]:
    if settings is None:
        return {}
    if not isinstance(settings, Mapping) or not all(isinstance(key, str) for key in settings):
        raise EstimatorError('settings is a dictionary such as {"train.optim.warmup": 0.1}, or None')
    return settings


def _leaves(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """``("a.b", value)`` for every leaf, with values that JSON has."""
    for key, value in tree.items():
        plain = value.item() if isinstance(value, np.generic) else value
        name = f"{above}{key}"
        if "=" in name or not all(part.strip() for part in name.split(".")):
            raise EstimatorError(f"settings has the key {name!r:.60}; keys are names with dots, as train.optim.warmup")
        if isinstance(plain, Mapping):
            yield from _leaves(plain, f"{name}.")
            continue
        if plain is None:
            raise EstimatorError(f"settings has no value for {name}; leave it out")
        if isinstance(plain, np.ndarray):
            plain = plain.tolist()
        try:
            json.dumps(plain)
        except TypeError:
            raise EstimatorError(f"settings has a {type(plain).__name__} for {name}") from None
        yield name, plain
