"""Checkpoints in Hugging Face's layout, found and read: a local folder or a hub id gives settings and
tensors.

Nothing that comes with a checkpoint is executed: settings are JSON, tensors are safetensors, and the pickled
files of old checkpoints are read with ``weights_only=True``, which builds tensors and nothing else.
transformers is not imported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from psitext.errors import UserError

J = TypeVar("J", dict[str, Any], list[Any])
_JSON: dict[type, str] = {dict: "object", list: "array"}

FROM_HUB = ("*.json", "*.txt", "*.safetensors")  # all that is ever downloaded
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
SETTINGS = "config.json"
# As transformers looks for them; an index says which of several files holds a tensor.
WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)

FOREIGN = (".h5", ".msgpack", ".ckpt", ".onnx", ".gguf")  # weights of other frameworks


def locate(source: str) -> Path:
    """The folder of a checkpoint: ``source`` itself, or the local copy of the hub's repository of that name.

    Errors: an empty name; a file; neither a folder nor a hub id; a repository that is unknown, private or out of reach.
    """
    if not source:
        raise UserError("the name of the model is empty; give a folder or a hub id such as owner/name")
    folder = Path(source).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UserError(f"{source} is a file; give the folder in which it lies beside {SETTINGS}")
    if not HUB_ID.fullmatch(source):
        raise UserError(f"there is no folder {source}; give an existing one or a hub id such as owner/name")
    return _download(source)


def check_new(folder: Path) -> None:
    """Refuse a folder to write that is in use. Errors: a file; one that is not empty."""
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{folder} is a file; name a new folder for the checkpoint")
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} exists and is not empty; name a new folder for the checkpoint")


def read_json(path: Path, kind: type[J] = dict) -> J:  # type: ignore[assignment]
    """The object (or, with ``kind=list``, the array) that a JSON file holds."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(
            f"{path.parent} holds no {path.name}, so it is no checkpoint in Hugging Face's layout"
        ) from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError:
        raise UserError(f"{path} is damaged: it is not JSON; a fresh copy is needed") from None
    if not isinstance(tree, kind):
        raise UserError(f"{path} is damaged: it holds no JSON {_JSON[kind]}; a fresh copy is needed")
    return tree


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Every tensor of a checkpoint by its name, on the CPU, in the dtype in which it was stored.

    Errors: no weights, or another framework's; a file that is cut short, damaged, missing, or holds more than
    tensors.
    """
    found = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if found is None:
        others = sorted(path.name for path in folder.glob("*") if path.suffix in FOREIGN)
        instead = f" ({others[0]} is another framework's)" if others else ""
        raise UserError(f"{folder} holds no weights{instead}; it needs one of: {', '.join(WEIGHTS)}")
    if found.suffix != ".json":
        return _read_file(found)
    homes = read_json(found).get("weight_map")
    if not isinstance(homes, dict):
        raise UserError(f"{found} is damaged: it has no 'weight_map'; a fresh copy is needed")
    tensors: dict[str, Tensor] = {}
    for name in sorted({str(home) for home in homes.values()}):
        if Path(name).name != name:
            raise UserError(f"{found} names {name!r}, which is not a file beside it")
        tensors |= _read_file(folder / name)
    lost = sorted(homes.keys() - tensors.keys())
    if lost:
        raise UserError(f"{folder} is incomplete: its index lists {lost[0]!r}, which no file holds; get a fresh copy")
    return tensors


def _read_file(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise UserError(f"{path} is missing; a fresh copy of the checkpoint is needed")
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            reason = _first_line(error)
            raise UserError(f"{path} is cut short or damaged ({reason}); a fresh copy is needed") from None
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged pickle can fail in any way
        raise UserError(
            f"{path} is damaged or holds more than tensors ({type(error).__name__}); "
            "a fresh copy is needed, better one in safetensors"
        ) from None
    if not isinstance(tensors, dict) or not all(torch.is_tensor(value) for value in tensors.values()):
        raise UserError(f"{path} is not a table of tensors by name")
    return tensors


def _download(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError, RepositoryNotFoundError
    except ImportError:
        raise UserError(f"there is no folder {name}, and hub ids need: pip install 'psitext[hf]'") from None
    try:
        return Path(snapshot_download(name, allow_patterns=list(FROM_HUB)))
    except LocalEntryNotFoundError:
        reason = "it is not in the local cache and the hub cannot be reached"
    except GatedRepoError:
        reason = "its owner has to grant access first, on its page"
    except RepositoryNotFoundError:
        reason = "it is unknown there, or private"
    except (OSError, ValueError) as error:
        reason = _first_line(error)
    raise UserError(f"there is no folder {name}, and the hub does not give it: {reason}")


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
