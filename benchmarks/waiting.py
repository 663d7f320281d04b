"""How long a newcomer waits: for the demo, for a first vector, for a comparison on 5,000 rows. Wall clock, two cores.

    python benchmarks/waiting.py --data-dir data
    python benchmarks/waiting.py --cold

Each is a command line of its own, run as a user runs it, in an empty folder; the shortest commands are the median of
seven. The rows of the comparison are sentences of Yelp's short reviews, drawn by key. ``--cold`` waits for `make demo`
alone, in a fresh clone without a virtual environment, every package downloaded anew. One result line each is appended
to results/waiting.jsonl. Speed against other libraries is measured by `psitext bench`.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from psitext.experiments.results import lines, stamp
from psitext.experiments.results.lines import ResultLine
from psitext.text.tasks import load_split, load_task

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "waiting.jsonl"
ROWS, TIMES = 5_000, 7
PSITEXT = (sys.executable, "-m", "psitext")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("PSITEXT_DATA"))
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--cold", action="store_true", help="make demo in a fresh clone, and nothing else")
    given = parser.parse_args()
    if given.cold:
        tell(given.results, "make demo, in a fresh clone, downloads included", [cold()])
        return
    if given.data_dir is None:
        parser.error("--data-dir names the folder that holds yelp_short/")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        table(place / "yelp.csv", given.data_dir)
        for task, command, times in (
            ("import psitext", (sys.executable, "-c", "import psitext"), TIMES),
            ("psitext encode, a sentence", (*PSITEXT, "encode", "a gripping film", "--model", "bert-tiny"), TIMES),
            ("psitext demo", (*PSITEXT, "demo", "--out", "demo"), 1),
            (
                f"psitext compare, {ROWS:,} rows, all contenders",
                (*PSITEXT, "compare", "yelp.csv", "--text", "review", "--label", "sentiment", "--out", "compared"),
                1,
            ),
        ):
            seconds = [waited(command, place) for _ in range(times)]
            tell(given.results, task, seconds)


def cold() -> float:
    """Seconds of `make demo` where there is a clone and nothing else: a new environment, no cache of packages."""
    with tempfile.TemporaryDirectory() as name:
        subprocess.run(("git", "clone", "--quiet", str(ROOT), "clone"), cwd=name, check=True)
        return waited(("make", "demo"), Path(name) / "clone", PIP_NO_CACHE_DIR="1")


def tell(results: Path, task: str, seconds: list[float]) -> None:
    """Append one command's line, and print it."""
    line = result(task, statistics.median(seconds), sum(seconds))
    lines.append(results, line)
    print(json.dumps({task: line.metrics}), flush=True)


def table(path: Path, data_dir: Path) -> None:
    """Rows drawn by key, in the order of the files."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["review", "sentiment"])
        for example in load_split(load_task("yelp"), "dev", data_dir, limit=ROWS):
            writer.writerow([example.text, example.label])


def waited(command: tuple[str, ...], place: Path, **environment: str) -> float:
    """Seconds of one command on a clock on the wall."""
    began = time.perf_counter()
    subprocess.run(command, cwd=place, check=True, capture_output=True, env=os.environ | environment)
    return time.perf_counter() - began


def result(task: str, seconds: float, spent: float) -> ResultLine:
    """The result line of one command."""
    return ResultLine(
        run="waiting", task=task, split="wall clock", metrics={"seconds": seconds},
        recipe="waiting", seed=0, rows={}, seconds=round(spent, 1), threads=stamp.threads(), commit=stamp.commit(),
        versions=stamp.versions(), finished=lines.now(),
        notes={"title": "How long a newcomer waits", "command": "python benchmarks/waiting.py", "all_metrics": True},
    )  # fmt: skip


if __name__ == "__main__":
    main()
