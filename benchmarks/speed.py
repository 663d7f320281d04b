"""The result lines of docs/benchmarks.md: `psitext bench` with as many rounds as each benchmark needs.

    python benchmarks/speed.py --data-dir DATA --init hf:FOLDER     # an hour or two on one core

The trainings go on for 200 steps, so that the losses of both sides can be compared; bfloat16 for 48, since it only
changes the speed. Lines are appended to results/bench.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from psitext.experiments.bench import suite
from psitext.experiments.results import lines

RESULTS = Path(__file__).parents[1] / "results" / "bench.jsonl"
ROUNDS = {
    "startup": 12,
    "batches": 12,
    "finetuning": 24,
    "pretraining": 24,
    "pretraining-bf16": 5,
    "finetuning-bf16": 5,
    "cadamw": 12,
    "complex-layer": 9,
    "complex-layer-bf16": 9,
    "unitary-head": 7,
    "qbert-pretraining": 5,
    "qbert-pretraining-bf16": 5,
    "rac": 12,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=None, help="books and SST-2 instead of the embedded corpus")
    parser.add_argument("--init", default=None, help="the BERT to fine-tune, hf:<folder>")
    parser.add_argument("--results", type=Path, default=RESULTS)
    given = parser.parse_args()
    for name, rounds in ROUNDS.items():
        for line in suite.run(suite.Settings(rounds, (name,), given.data_dir, given.init), print):
            lines.append(given.results, line)
            print(line.task, {key: round(value, 4) for key, value in line.metrics.items()}, flush=True)


if __name__ == "__main__":
    main()
