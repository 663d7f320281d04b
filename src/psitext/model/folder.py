"""A model's folder: ``config.json`` (format version, every setting resolved), ``model.safetensors``,
``tokenizers/<name>.json``, ``card.md`` and ``checksums.json``; of a recurrent arithmetic circuit also
``law.safetensors``, how often it read each word in training.

It loads in a fresh interpreter on another platform and shows damage; nothing in it is a pickle.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psitext import __version__
from psitext.config import Config
from psitext.errors import UserError
from psitext.files import folder_atomic, sha256, write_atomic
from psitext.heads.decoding import WritingConfig
from psitext.heads.pretraining import PretrainingConfig
from psitext.model.shipped import missing
from psitext.train import checkpoint

if TYPE_CHECKING:
    from psitext.model.model import Model

FORMAT = 1
HEADS_FOR: dict[type[Config], str] = {PretrainingConfig: "pretraining", WritingConfig: "writing"}  # any other: a task's
CONFIG, CARD, TOKENIZERS, LAW = "config.json", "card.md", "tokenizers", "law.safetensors"


def write(model: Model, path: Path, *, narrow: bool = False, words: str | None = None) -> None:
    """Write the folder in one step; an older one in its place is replaced.

    ``narrow`` rounds weights to bfloat16, half the bytes, which are read back as float32; ``words`` is a card in place
    of the usual one. Errors: a place that holds something else than a model, a full or read-only disk.
    """
    a_model = all((path / name).is_file() for name in (checkpoint.CHECKSUMS, CONFIG, CARD))  # a checkpoint has no card
    if path.exists() and not a_model and (path.is_file() or any(path.iterdir())):
        raise UserError(f"{path} holds something else than a model; name another folder")
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


def read_config(path: Path) -> dict[str, Any]:
    """The settings in a folder whose files are all as they were written.

    Errors: a file that is missing or damaged, another format.
    """
    try:
        sums: dict[str, str] = dict(json.loads((path / checkpoint.CHECKSUMS).read_text(encoding="utf-8")))
        for name, digest in sums.items():
            # The card is for readers, who may add to it.
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise UserError(f"{path / checkpoint.CHECKSUMS} names {name!r}, which is no file of the model")
            if name != CARD and sha256(path / name) != digest:
                raise UserError(f"{path / name} is damaged: its checksum is not the one it was saved with")
        tree: dict[str, Any] = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        found = tree.get("format")
    except FileNotFoundError as error:
        raise UserError(f"{error.filename} is missing; a fresh copy of the model is needed") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged ({error}); a fresh copy of the model is needed") from None
    if found != FORMAT:
        raise UserError(f"{path} has format {found}; this psitext reads format {FORMAT}")
    return tree


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
