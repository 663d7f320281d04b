"""How much memory and time a token store costs, at several sizes of text.

    python benchmarks/store_memory.py                            # 20, 60 and 200 MB
    python benchmarks/store_memory.py --sizes 500 1000 2000    # megabytes; needs twice that on the disk

Every size is built by a process of its own, whose largest resident memory the system reports. The text is
made by a keyed generator: words of Zipf's frequencies, sentences of about 20 words, documents of about 20
sentences. One result line per size is appended to results/store_memory.jsonl.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.randomness import generator
from psitext.text.pretraining.building import build_store
from psitext.text.tokenizer import Tokenizer, train

RESULTS = Path(__file__).parents[1] / "results" / "store_memory.jsonl"
MB = 1_000_000
WORDS = 50_000  # distinct words of the generated text
VOCABULARY = 8192
PIECE = 20_000  # sentences generated at a time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 60, 200], help="megabytes of text")
    parser.add_argument("--scratch", type=Path, default=None, help="where text and stores are written for a while")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--build", type=Path, nargs=3, help=argparse.SUPPRESS)  # text, tokenizer, store
    given = parser.parse_args()
    if given.build:
        print(json.dumps(build(*given.build)))
        return
    for size in given.sizes:
        with tempfile.TemporaryDirectory(dir=given.scratch) as folder:
            line = measure(size, Path(folder))
        lines.append(given.results, line)
        print(json.dumps(line.metrics), flush=True)


def measure(size: int, folder: Path) -> ResultLine:
    """The result line of one size."""
    write_text(folder / "text.txt", size * MB)
    with (folder / "text.txt").open(encoding="utf-8") as file:
        sample = file.read(2 * MB).splitlines()
    train("wordpiece", sample, VOCABULARY).save(folder / "tokenizer.json")
    command = [sys.executable, __file__, "--build"]
    paths = [folder / "text.txt", folder / "tokenizer.json", folder / "store"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    metrics = {"text_mb": float(size), **json.loads(done.stdout)}
    return ResultLine(
        run="token store",
        task=f"{size} MB",
        split="generated text",
        metrics={name: float(value) for name, value in metrics.items()},
        recipe="store-memory",
        seed=0,
        seconds=metrics["seconds"],
        threads=os.cpu_count() or 1,
        commit=stamp.commit(),
        versions=stamp.versions(),
        finished=lines.now(),
        notes={"title": "Memory and time of a token store", "command": "python benchmarks/store_memory.py"},
    )


def build(text: Path, tokenizer: Path, store: Path) -> dict[str, object]:
    """Build one store in this process, and say what it cost."""
    loaded = Tokenizer.load(tokenizer)
    before = peak_mb()
    start, cpu = time.perf_counter(), time.process_time()
    meta = build_store([text], loaded, store).meta
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "mb_per_second": round(text.stat().st_size / MB / seconds, 2),
        "peak_rss_mb": round(peak_mb(), 1),
        "rss_before_mb": round(before, 1),
        "tokens": meta.tokens,
        "sentences": meta.sentences,
        "documents": meta.documents,
    }


def peak_mb() -> float:
    """The most memory this process has had resident so far."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux ru_maxrss starts at what the parent process had
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 / MB
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB


def write_text(path: Path, size: int) -> None:
    """About ``size`` bytes of sentences, a sentence a line, an empty line after a document."""
    random = generator(0, "words")
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    odds = 1 / np.arange(1, len(letters) + 1)
    words = ["".join(random.choice(letters, n, p=odds / odds.sum())) for n in random.integers(2, 12, WORDS)]
    frequency = np.cumsum(1 / np.arange(1, WORDS + 1))
    with path.open("w", encoding="utf-8") as file:
        part = 0
        while file.tell() < size:
            random = generator(0, "sentences", part)
            part += 1
            lengths = random.integers(4, 37, PIECE)
            picks = np.searchsorted(frequency, random.random(lengths.sum()) * frequency[-1])
            ends = np.cumsum(lengths)
            last = random.random(PIECE) < 0.05  # of its document
            lines = (
                " ".join([words[k] for k in picks[end - n : end].tolist()]).capitalize() + (".\n\n" if stop else ".\n")
                for end, n, stop in zip(ends.tolist(), lengths.tolist(), last.tolist(), strict=True)
            )
            file.write("".join(lines)[: size - file.tell()])


if __name__ == "__main__":
    main()
