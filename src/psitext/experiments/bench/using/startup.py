"""How long a start takes: a fresh interpreter each time, its own processor time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from psitext.experiments.bench.timing import Measured, compare

Arguments = tuple[str, ...]

HELP = ("-m", "psitext", "--help")
IMPORT = ("-c", "import psitext")
MODEL = ("-c", "import psitext; psitext.load")  # with torch and all that a model needs
THEIR_IMPORT = ("-c", "import transformers")
THEIR_MODEL = ("-c", "from transformers import BertModel")
SENTENCE = "a gripping, funny film"
THEIR_ENCODING = """
from transformers import AutoTokenizer, BertModel
tokenizer, model = AutoTokenizer.from_pretrained({folder!r}), BertModel.from_pretrained({folder!r})
print(model(**tokenizer({sentence!r}, return_tensors="pt")).last_hidden_state[0, 0].tolist())
"""


def startup(rounds: int, seed: int) -> list[Measured]:
    """Help and imports, against the import of transformers alone and with its BERT."""
    pairs = {
        "`psitext --help` against `import transformers`": (HELP, THEIR_IMPORT),
        "`import psitext` against `import transformers`": (IMPORT, THEIR_IMPORT),
        "`psitext.load` against `from transformers import BertModel`": (MODEL, THEIR_MODEL),
    }
    return [_measured(name, ours, theirs, rounds, seed) for name, (ours, theirs) in pairs.items()]


def encoding(name: str, folder: Path, hf: Path, rounds: int, seed: int) -> Measured:
    """One sentence from the shell to its vector, against the same in transformers; ``hf`` holds the same weights."""
    ours = ("-m", "psitext", "encode", SENTENCE, "--model", str(folder))
    theirs = ("-c", THEIR_ENCODING.format(folder=str(hf), sentence=SENTENCE))
    return _measured(
        f"`psitext encode` of one sentence, {name}, against the same in transformers", ours, theirs, rounds, seed
    )


def _measured(name: str, ours: Arguments, theirs: Arguments, rounds: int, seed: int) -> Measured:
    sides = [lambda: start(ours)], [lambda: start(theirs)]
    timing = compare([sides] * (rounds + 1), clock=children_seconds, seed=seed)
    return Measured(name, "s", timing.ours, timing.theirs, timing.ratio)


def start(arguments: Arguments) -> None:
    """Run a fresh interpreter to its end."""
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, timeout=600)


def children_seconds() -> float:
    """Processor time of all subprocesses that have ended, the user's and the system's; elapsed time on Windows,
    which does not tell.
    """
    if sys.platform == "win32":
        return time.perf_counter()
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
