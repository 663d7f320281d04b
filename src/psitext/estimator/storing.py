"""A fitted estimator as a folder without pickles, and its models as bytes while it is copied or sent to a process.

folder/estimator.json    format, class, parameters, classes or units, columns
folder/model/            the fitted model's folder, as ``psitext.load`` reads it
folder/encoder/          of an estimator whose ``encoder`` is a Model, that one's
folder/checksums.json    of estimator.json; the models have their own
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from psitext import __version__
from psitext.errors import UserError
from psitext.estimator.texts import EstimatorError
from psitext.files import folder_atomic, holds_another, sha256, write_atomic
from psitext.model import Model, load
from psitext.model.folder import find
from psitext.model.shipped import located

if TYPE_CHECKING:
    from psitext.estimator.base import TextEstimator

T = TypeVar("T", bound="TextEstimator")

FORMAT = 1
SETTINGS, SUMS, MODEL, ENCODER = "estimator.json", "checksums.json", "model", "encoder"
GIVEN = {"model": True}  # stands for an encoder that lies in the folder
ARRAYS = ("classes_", "feature_names_in_")
PLAIN = ("n_features_in_", "paired_", "target_mean_", "target_scale_")


@dataclass(frozen=True, slots=True)
class Packed:
    """A model as the files of its folder: name and content."""

    files: dict[str, bytes]


def packed(value: object) -> object:
    """A Model as bytes; anything else as it is."""
    if not isinstance(value, Model):
        return value
    with TemporaryDirectory(prefix="psitext-") as place:
        folder = value.save(Path(place) / MODEL)
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return Packed({file.relative_to(folder).as_posix(): file.read_bytes() for file in files})


def unpacked(value: object) -> object:
    """The Model of such bytes; anything else as it is."""
    if not isinstance(value, Packed):
        return value
    with TemporaryDirectory(prefix="psitext-") as place:
        folder = Path(place) / MODEL
        for name, content in value.files.items():
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise EstimatorError(f"the copy of a model names a file outside its folder: {name}")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return load(folder)


def write(estimator: TextEstimator, path: Path) -> Path:
    """Write the folder in one step. Errors: a place with something else; parameters or classes that JSON lacks."""
    if holds_another(path, (SETTINGS,)):
        raise EstimatorError(f"{path} holds something else than an estimator; name another folder")
    params = estimator.get_params(deep=False)
    encoder = params["encoder"]
    tree = {
        "format": FORMAT,
        "psitext": __version__,
        "class": type(estimator).__name__,
        "params": {name: _plain(name, value) for name, value in params.items()},
        "fitted": {name: getattr(estimator, name) for name in PLAIN if hasattr(estimator, name)},
        "arrays": {name: _array(name, getattr(estimator, name)) for name in ARRAYS if hasattr(estimator, name)},
    }
    with folder_atomic(path) as part:
        write_atomic(part / SETTINGS, json.dumps(tree, indent=2, ensure_ascii=False))
        write_atomic(part / SUMS, json.dumps({SETTINGS: sha256(part / SETTINGS)}, indent=2))
        estimator.model_.save(part / MODEL)
        if isinstance(encoder, Model):
            encoder.save(part / ENCODER)
    return path


def read(cls: type[T], path: Path) -> T:
    """The estimator in a folder. Errors: none there, another kind or format, damage."""
    tree = _tree(path)
    if tree.get("class") != cls.__name__:
        raise EstimatorError(f"{path} holds a {tree.get('class')}; load it as that, not as a {cls.__name__}")
    try:
        params = dict(tree["params"])
        if params["encoder"] == GIVEN:
            params["encoder"] = load(path / ENCODER)
        estimator = cls(**params)
        for name in PLAIN:
            if name in tree["fitted"]:
                setattr(estimator, name, tree["fitted"][name])
        for name in ARRAYS:
            if name in tree["arrays"]:
                setattr(estimator, name, _as_array(tree["arrays"][name]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, UserError):
            raise
        raise EstimatorError(f"{path / SETTINGS} is of another psitext ({type(error).__name__}: {error})") from None
    estimator.model_ = load(path / MODEL)
    return estimator


def _tree(path: Path) -> dict[str, Any]:
    if not (path / SETTINGS).exists():
        raise _nowhere(path)
    try:
        sums = json.loads((path / SUMS).read_text(encoding="utf-8"))
        if sums[SETTINGS] != sha256(path / SETTINGS):
            raise EstimatorError(f"{path / SETTINGS} is damaged: its checksum is not the one it was saved with")
        tree: dict[str, Any] = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
        found = tree.get("format")
    except (FileNotFoundError, NotADirectoryError):
        raise EstimatorError(f"{path} lacks files; a fresh copy of the estimator is needed") from None
    except EstimatorError:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise EstimatorError(f"{path} is damaged ({error}); a fresh copy of the estimator is needed") from None
    if found != FORMAT:
        raise EstimatorError(f"{path} has format {found}; this psitext reads format {FORMAT}")
    return tree


def _nowhere(path: Path) -> EstimatorError:
    """What is said of a place without an estimator, which may be that of a model."""
    try:
        find(located(path))
    except UserError:
        return EstimatorError(f"there is no estimator at {path}; save() writes one")
    return EstimatorError(f"{path} is a model and no estimator: psitext.load reads it")


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON has it."""
    if isinstance(value, Model):
        return GIVEN
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        raise EstimatorError(
            f"{name} is a {type(value).__name__}, which a file of parameters cannot hold; set_params({name}=...) with "
            "plain values before saving"
        ) from None
    return value


def _array(name: str, values: npt.NDArray[Any]) -> dict[str, Any]:
    """Numbers, truth values or strings, with the type that brings them back."""
    plain = values.tolist()
    if values.dtype.kind not in "OUbiuf" or not all(isinstance(one, str | bool | int | float) for one in plain):
        raise EstimatorError(f"{name} holds {values.dtype} values; only numbers, truth values and strings are saved")
    return {"dtype": "object" if values.dtype.kind == "O" else values.dtype.str, "values": plain}


def _as_array(tree: dict[str, Any]) -> npt.NDArray[Any]:
    dtype = np.dtype(str(tree["dtype"]))
    if dtype.kind not in "OUbiuf":
        raise ValueError(f"a {dtype} array")
    return np.array(tree["values"], dtype=dtype)
