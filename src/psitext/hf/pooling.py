"""What a sentence-transformers folder says about its sentence vector, and how to say it.

Such a folder lists modules: a transformer (its files at ``path``, often the folder itself), a pooling,
perhaps a normalisation, which changes lengths only and which a state leaves to ``to_ket``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from psitext.errors import UserError
from psitext.files import write_atomic
from psitext.hf.checkpoints import read_json

MODULES = "modules.json"
POOLING = Path("1_Pooling") / "config.json"
_CARRIED = ("Transformer", "Pooling", "Normalize")
_OLD_FLAGS = "pooling_mode_"  # before version 5 every mode had a flag: pooling_mode_mean_tokens
_MEAN, _FIRST = "mean_tokens", "cls_token"


def read_pool(folder: Path, *, wanted: bool) -> tuple[Path, str | None]:
    """The folder of the transformer's own files, and the pool that is stated: "mean" or "cls".

    None where nothing is stated, or where it is not ``wanted``. Errors: a pooling, or a module after it, that
    psitext's BERT does not have.
    """
    modules = read_json(folder / MODULES, list) if (folder / MODULES).is_file() else []
    named = {_kind(module): str(module.get("path", "")) for module in modules if isinstance(module, dict)}
    root = _inside(folder, named.get("Transformer", ""))
    if not wanted:
        return root, None
    strange = [name for name in named if name not in _CARRIED]
    if strange:
        raise UserError(
            f"{folder} ends in a module {strange[0]!r}, which psitext does not carry over; "
            "name a pool to read its BERT alone"
        )
    path = _inside(folder, named["Pooling"]) / "config.json" if "Pooling" in named else folder / POOLING
    return root, _mode(read_json(path), path) if "Pooling" in named or path.is_file() else None


def write_mean_pool(folder: Path, width: int) -> None:
    """Say that the sentence vector is the mean token, as every version of sentence-transformers reads it."""
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate([("", "Transformer"), (POOLING.parent.name, "Pooling")])
    ]
    write_atomic(folder / MODULES, json.dumps(modules, indent=2))
    flags = {_OLD_FLAGS + _FIRST: False, _OLD_FLAGS + _MEAN: True, _OLD_FLAGS + "max_tokens": False}
    write_atomic(folder / POOLING, json.dumps({"word_embedding_dimension": width, **flags}, indent=2))


def _mode(settings: dict[str, Any], path: Path) -> str:
    stated = settings.get("pooling_mode")
    if stated is None:
        flags = [name for name, on in settings.items() if name.startswith(_OLD_FLAGS) and on is True]
        short = [flag.removeprefix(_OLD_FLAGS) for flag in flags]
        modes = [{_MEAN: "mean", _FIRST: "cls"}.get(flag, flag) for flag in short]
    else:
        modes = [stated] if isinstance(stated, str) else list(stated)
    if len(modes) != 1 or modes[0] not in ("mean", "cls"):
        raise UserError(
            f"{path} pools by {' and '.join(map(repr, modes)) or 'nothing'}; "
            "psitext's BERT has 'mean' and 'cls': name one of them as the pool"
        )
    return str(modes[0])


def _kind(module: dict[str, Any]) -> str:
    """``sentence_transformers.models.Pooling`` gives ``Pooling``; what stands before it has changed."""
    return str(module.get("type", "")).rpartition(".")[2]


def _inside(folder: Path, path: str) -> Path:
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise UserError(f"{folder / MODULES} points out of its folder, to {path!r}")
    return folder / path
