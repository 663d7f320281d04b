"""Small models in a folder, one for each kind of tab, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

import kets
import racs
import tellers
from psitext.studio.models import Shelf, offered


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Folders by what they hold."""
    folder: Path = tmp_path_factory.mktemp("studio")
    made = {
        "measured": kets.model(width=16),
        "circuit-head": kets.model(width=8, classes=3, unitary="circuit", layers=2),
        "rac": racs.model(),
        "space": tellers.space(),
        "language": tellers.language_model(),
    }
    return {name: str(model.save(folder / name)) for name, model in made.items()}


@pytest.fixture(scope="session")
def shelf(models: dict[str, str]) -> Shelf:
    """All but the language model, which no tab can use."""
    return offered([path for name, path in models.items() if name != "language"])
