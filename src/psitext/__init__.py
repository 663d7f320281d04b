"""psitext: sentences as states.

The public names, and nothing else: each is fetched from the module that defines it when it is first asked
for, so ``import psitext`` loads no torch. ``docs/reading.md`` tells in which order to read the rest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psitext.errors import UserError
    from psitext.estimator import SentenceClassifier, SentenceRegressor, SentenceStateTransformer
    from psitext.experiments.compare.comparing import compare
    from psitext.experiments.run import finetune, pretrain
    from psitext.model import Model, load
    from psitext.state import Bond, Ket, Posterior, SentenceState

__version__ = "0.1.0"

__all__ = [
    "load",
    "pretrain",
    "finetune",
    "compare",
    "Model",
    "SentenceState",
    "Ket",
    "Bond",
    "Posterior",
    "SentenceClassifier",
    "SentenceRegressor",
    "SentenceStateTransformer",
    "UserError",
    "quantum",
]

_HOMES = {
    "load": "psitext.model",
    "pretrain": "psitext.experiments.run",
    "finetune": "psitext.experiments.run",
    "compare": "psitext.experiments.compare.comparing",
    "Model": "psitext.model",
    "SentenceState": "psitext.state",
    "Ket": "psitext.state",
    "Bond": "psitext.state",
    "Posterior": "psitext.state",
    "SentenceClassifier": "psitext.estimator",
    "SentenceRegressor": "psitext.estimator",
    "SentenceStateTransformer": "psitext.estimator",
    "UserError": "psitext.errors",
}


def __getattr__(name: str) -> Any:
    if name == "quantum":  # a part of its own, which needs qiskit
        return import_module("psitext.quantum")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'psitext' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value  # the next look-up is a plain one
    return value


def __dir__() -> list[str]:
    """The public names; what this file itself imports is nobody's business."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
