"""A trained DisCoCat on disk: ``config.json`` (settings, labels, words) and ``model.safetensors``. No pickles."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import field_validator
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from psitext.baselines.discocat.fitting import Fitted
from psitext.baselines.discocat.grammar import Lexicon
from psitext.baselines.discocat.model import Discocat
from psitext.baselines.discocat.reading import TextReader
from psitext.baselines.discocat.settings import DiscocatConfig
from psitext.config import Config, build
from psitext.errors import UserError
from psitext.files import folder_atomic, usual_mode

FORMAT = 1  # raised when a field changes its meaning
_CONFIG, _WEIGHTS = "config.json", "model.safetensors"


class Saved(Config):
    """What ``config.json`` holds."""

    format: int = FORMAT
    settings: DiscocatConfig
    labels: tuple[str, ...]
    words: dict[str, tuple[str, ...]]
    lexicon: Lexicon | None = None  # of the pregroup reader

    @field_validator("format")
    @classmethod
    def _known(cls, value: int) -> int:
        if value != FORMAT:
            raise ValueError(f"this version of psitext reads format {FORMAT}")
        return value


def save(fitted: Fitted, folder: Path) -> None:
    """Write a model in the place of whatever is in ``folder``; the lexicon that it reads with goes along."""
    model = fitted.model
    lexicon = model.reader.grammar.lexicon if model.reader.grammar else None
    saved = Saved(settings=model.config, labels=fitted.labels, words=dict(model.words), lexicon=lexicon)
    with folder_atomic(folder) as path:
        (path / _CONFIG).write_text(json.dumps(saved.tree(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        with usual_mode(path / _WEIGHTS):
            save_file(model.state_dict(), path / _WEIGHTS)


def load(folder: Path) -> Fitted:
    """Read what ``save`` wrote. Errors: a missing or damaged file, weights that are not those of the settings."""
    saved = build(Saved, _tree(folder / _CONFIG), str(folder / _CONFIG))
    model = Discocat(TextReader(saved.settings, saved.lexicon), saved.words, len(saved.labels))
    try:
        model.load_state_dict(load_file(folder / _WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise UserError(f"{folder / _WEIGHTS} does not hold this model's weights: {_first_line(error)}") from None
    return Fitted(model.eval(), saved.labels)


def _tree(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} holds no DisCoCat: {_first_line(error)}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no DisCoCat: it is no JSON object")
    return found


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".:")
