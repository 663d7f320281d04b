"""How long a start takes: a fresh interpreter each time, its own processor time."""

from __future__ import annotations

import os
import subprocess
import sys

from psitext.experiments.bench.timing import Measured, compare

HELP = ("-m", "psitext", "--help")
IMPORT = ("-c", "import psitext")
THEIR_IMPORT = ("-c", "import transformers")
THEIR_MODEL = ("-c", "from transformers import BertModel")


def startup(rounds: int, seed: int) -> list[Measured]:
    """`psitext --help` and `import psitext` against the import of transformers, alone and with its BERT."""
    pairs = {
        "psitext --help / import transformers": (HELP, THEIR_IMPORT),
        "import psitext / from transformers import BertModel": (IMPORT, THEIR_MODEL),
    }
    return [_measured(name, ours, theirs, rounds, seed) for name, (ours, theirs) in pairs.items()]


def _measured(name: str, ours: tuple[str, ...], theirs: tuple[str, ...], rounds: int, seed: int) -> Measured:
    sides = [lambda: start(ours)], [lambda: start(theirs)]
    timing = compare([sides] * (rounds + 1), clock=children_seconds, seed=seed)
    return Measured(name, "s", timing.ours, timing.theirs, timing.ratio)


def start(arguments: tuple[str, ...]) -> None:
    """Run a fresh interpreter to its end."""
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, timeout=600)


def children_seconds() -> float:
    """Processor time of all subprocesses that have ended, user's and system's, in seconds."""
    times = os.times()
    return times.children_user + times.children_system
