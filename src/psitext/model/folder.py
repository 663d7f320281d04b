"""A model's folder: ``config.json`` (format version, every setting resolved), ``model.safetensors``,
``tokenizers/<name>.json``, ``card.md`` and ``checksums.json``; of a recurrent arithmetic circuit also
``law.safetensors``, how often it read each word in training.

It loads in a fresh interpreter on another platform and shows damage; nothing in it is a pickle.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from psitext import __version__
from psitext.config import Config, build
from psitext.errors import UserError
from psitext.files import folder_atomic, holds_another, sha256, write_atomic
from psitext.heads.decoding import WritingConfig
from psitext.heads.pretraining import PretrainingConfig
from psitext.model.shipped import missing
from psitext.train import checkpoint

if TYPE_CHECKING:
    from psitext.model.model import Model

FORMAT = 1
HEADS_FOR: dict[type[Config], str] = {PretrainingConfig: "pretraining", WritingConfig: "writing"}  # any other: a task's
CONFIG, CARD, TOKENIZERS, LAW = "config.json", "card.md", "tokenizers", "law.safetensors"


class HeadTable(Config):
    """What ``config.json`` says of the head: what it is for ("task", "pretraining", "writing", "none"), and how."""

    model_config = ConfigDict(extra="ignore")

    use: str = Field(alias="for")
    settings: dict[str, Any] | None

    @field_validator("settings")
    @classmethod
    def _of_a_head(cls, value: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
        if value is None and info.data.get("use", "none") != "none":
            raise ValueError(f"a head for {info.data['use']!r} has a table of settings")
        return value


class ModelTables(Config):
    """The shape of ``config.json``; what is in the tables is checked where the parts are built."""

    model_config = ConfigDict(extra="ignore")

    encoder: dict[str, Any]
    head: HeadTable
    task: dict[str, Any] | None
    text: dict[str, Any]
    temperature: float = Field(gt=0, strict=True)
    facts: dict[str, Any]

    @field_validator("task")
    @classmethod
    def _of_the_head(cls, value: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
        if value is None and "head" in info.data and info.data["head"].use == "task":
            raise ValueError("a head for 'task' has a table of its task")
        return value


def write(model: Model, path: str | Path, *, narrow: bool = False, words: str | None = None) -> Path:
    """Write the folder in one step; an older one in its place is replaced. Its path comes back.

    ``narrow`` rounds weights to bfloat16, half the bytes, which are read back as float32; ``words`` is a card in place
    of the usual one. Errors: a path that is none; a place that holds something else than a model; a full or read-only
    disk.
    """
    if not isinstance(path, str | os.PathLike):
        raise UserError(f"a model is saved to the path of a folder, not to a {type(path).__name__}")
    path = Path(path)
    check_place(path)
    with folder_atomic(path) as part:
        write_atomic(part / CONFIG, json.dumps(_config(model), indent=2, ensure_ascii=False))
        tensors = checkpoint.tensors_of(model.network)
        if narrow:
            tensors = {name: one.bfloat16() if one.is_floating_point() else one for name, one in tensors.items()}
        checkpoint.write_tensors(tensors, part / checkpoint.MODEL)
        if model.law is not None:
            checkpoint.write_tensors({"words": model.law.words, "lengths": model.law.lengths}, part / LAW)
        for name, tokenizer in model.tokenizers.items():
            tokenizer.save(part / TOKENIZERS / f"{name}.json")
        write_atomic(part / CARD, card(model) if words is None else words)
        files = [file for file in sorted(part.rglob("*")) if file.is_file()]
        sums = {file.relative_to(part).as_posix(): sha256(file) for file in files}
        write_atomic(part / checkpoint.CHECKSUMS, json.dumps(sums, indent=2))
    return path


def check_place(path: Path) -> None:
    """Refuse a place that holds something else than a model, of which nothing is to be lost."""
    if holds_another(path, (checkpoint.CHECKSUMS, CONFIG, CARD)):  # a checkpoint has no card
        raise UserError(f"{path} holds something else than a model; name another folder")


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a folder whose files are all as they were written.

    Errors: a file that is missing or damaged or has no checksum, another format, a table of another type.
    """
    try:
        sums: dict[str, str] = dict(json.loads((path / checkpoint.CHECKSUMS).read_text(encoding="utf-8")))
        for name, digest in sums.items():
            # The card is for readers, who may add to it.
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise UserError(f"{path / checkpoint.CHECKSUMS} names {name!r}, which is no file of the model")
            if name != CARD and sha256(path / name) != digest:
                raise UserError(f"{path / name} is damaged: its checksum is not the one it was saved with")
        for name in _loaded(path):
            if name not in sums:
                raise UserError(
                    f"{path / checkpoint.CHECKSUMS} does not name {name}; a fresh copy of the model is needed"
                )
        tree: dict[str, Any] = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        found = tree.get("format")
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing; a fresh copy of the model is needed") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); a fresh copy of the model is needed") from None
    if found != FORMAT:
        raise UserError(f"{path} has format {found}; this psitext reads format {FORMAT}")
    build(ModelTables, tree, str(path / CONFIG))
    return tree


def tokenizer_files(path: Path) -> list[Path]:
    """A model's tokenizers, without the files that a system puts beside each of ours."""
    return sorted((path / TOKENIZERS).glob("[!.]*.json"))


def _loaded(path: Path) -> list[str]:
    """The files of a folder that a model is made of, as its checksums name them."""
    law = [LAW] if (path / LAW).is_file() else []
    tokenizers = [file.relative_to(path).as_posix() for file in tokenizer_files(path)]
    return [checkpoint.MODEL, CONFIG, *law, *tokenizers]


def find(path: Path) -> Path:
    """The folder itself, or the model in a run's folder."""
    for candidate in (path, path / "model"):
        if (candidate / CONFIG).is_file() and ((candidate / checkpoint.CHECKSUMS).is_file() or _ours(candidate)):
            return candidate  # what it lacks, its reader says
    if not path.exists():
        raise missing(path)
    if (path / "recipe.json").is_file():
        raise UserError(
            f"the run in {path} has not finished, so it holds no model yet; `psitext resume {path}` goes on with it"
        )
    if (path / CONFIG).is_file():
        raise UserError(f"{path} is not a psitext model; a Hugging Face folder is loaded as hf:{path}")
    raise UserError(f"{path} is not a model: it has no {CONFIG}")


def _ours(path: Path) -> bool:
    """Whether the settings in a folder are those of a psitext model."""
    try:
        return "psitext" in dict(json.loads((path / CONFIG).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return False


def card(model: Model) -> str:
    """The model card: what it is, what it was trained on, how it scored, in Markdown."""
    config = model.encoder.config
    lines = [
        f"# {model.facts.get('name', config.family)}",
        "",
        f"A {config.family} encoder, {config.in_words}, vocabulary {config.vocab_size}, "
        f"made with psitext {__version__}.",
        "",
    ]
    if isinstance(model.head, WritingConfig):
        lines += [f"It writes sentences: {model.head.in_words}, vocabulary {model.head.vocab_size}.", ""]
    if model.task:
        labels = ", ".join(model.task.labels) or "a score"
        lines += [f"Task: {model.task.title or model.task.name} ({model.task.kind}; labels: {labels}).", ""]
    lines += [f"- {key}: {_in_words(value)}" for key, value in model.facts.items() if key != "name"]
    return "\n".join(lines) + "\n"


def _config(model: Model) -> dict[str, Any]:
    head = model.head
    kind = next((name for cls, name in HEADS_FOR.items() if isinstance(head, cls)), "none" if head is None else "task")
    return {
        "format": FORMAT,
        "psitext": __version__,
        "encoder": model.encoder.config.tree(),
        "head": {"for": kind, "settings": None if head is None else head.tree()},
        "task": model.task.tree() if model.task else None,
        "text": model.text.tree(),
        "temperature": model.temperature,
        "facts": dict(model.facts),
    }


def _in_words(value: Any) -> str:
    """A fact as a reader wants it: nested ones flat, numbers with four digits, long lists left to ``config.json``."""
    if isinstance(value, dict):
        parts = [f"{key} {_in_words(part)}" for key, part in value.items() if not isinstance(part, list | tuple)]
        return ", ".join(parts)
    if isinstance(value, list | tuple):
        return "; ".join(map(str, value)) or "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
