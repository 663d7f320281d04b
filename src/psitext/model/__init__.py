"""A model: an encoder, its head, its named tokenizers and its labels, in one folder.

Read in this order: ``model`` (what a user holds in hand), ``answers`` (texts in, answers out), ``writing``
(latents in, sentences out), ``scores``, ``folder`` (what is on the disk), ``loading``, ``shipped`` (those that come
with psitext). The names are fetched when they are first asked for, so that ``shipped`` can be read without torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psitext.model.answers import Answer
    from psitext.model.loading import from_hf, load, with_pool
    from psitext.model.model import PLAIN, TEXT, WRITTEN, Model, Sentences
    from psitext.model.scores import evaluate_network
    from psitext.model.writing import decoder_of

__all__ = [
    "Answer",
    "Model",
    "load",
    "from_hf",
    "with_pool",
    "evaluate_network",
    "decoder_of",
    "Sentences",
    "TEXT",
    "WRITTEN",
    "PLAIN",
]

_HOMES = {
    "answers": ("Answer",),
    "loading": ("from_hf", "load", "with_pool"),
    "model": ("PLAIN", "TEXT", "WRITTEN", "Model", "Sentences"),
    "scores": ("evaluate_network",),
    "writing": ("decoder_of",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'psitext.model' has no attribute {name!r}")
    value = getattr(import_module(f"psitext.model.{home}"), name)
    globals()[name] = value  # the next look-up is a plain one
    return value
