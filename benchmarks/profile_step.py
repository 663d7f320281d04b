"""Where the time of a training step goes: torch's profiler over a few steps, one thread.

    python benchmarks/profile_step.py                          # pre-training BERT-mini on the embedded corpus
    python benchmarks/profile_step.py --fine-tune --data-dir DATA --init hf:FOLDER

The profiler shows elapsed time, so other work on the machine blurs it; `psitext bench` measures what matters.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

from torch.profiler import ProfilerActivity, profile

from psitext.assemble import build_encoder, build_head, build_pretraining_head, task_score
from psitext.experiments.bench import finetuning, pretraining
from psitext.experiments.bench.racing import Course, Step, our_step
from psitext.experiments.bench.timing import one_thread
from psitext.score import losses
from psitext.text.batches import Source
from psitext.train.network import Network
from psitext.train.optim import build_optimizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fine-tune", action="store_true", help="profile fine-tuning instead of pre-training")
    parser.add_argument("--data-dir", type=Path, default=None, help="books and SST-2 instead of the embedded corpus")
    parser.add_argument("--init", default=None, help="the BERT to fine-tune, hf:<folder>")
    parser.add_argument("--vocabulary", type=int, default=8_192, help="entries, for pre-training")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--rows", type=int, default=25, help="of the table")
    given = parser.parse_args()
    with one_thread(), TemporaryDirectory() as folder:
        if given.fine_tune:
            step, source = fine_tuning(given.data_dir, given.init)
        else:
            step, source = pre_training(given.data_dir, Path(folder), given.vocabulary)
        warm_up, measured = Course(rounds=1, steps=given.steps).chunks(len(source.lengths(0)))
        for samples in warm_up.reshape(given.steps, -1):
            step(samples, 1.0)
        with profile(activities=[ProfilerActivity.CPU]) as profiler:
            for samples in measured.reshape(given.steps, -1):
                step(samples, 1.0)
    print(profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=given.rows))


def pre_training(data_dir: Path | None, folder: Path, vocabulary: int) -> tuple[Step, Source]:
    text = pretraining.read_text(data_dir, folder)
    encoder = build_encoder(text.recipe.encoder.model_copy(update={"vocab_size": vocabulary}))
    head = build_pretraining_head(encoder, text.recipe.head)
    optim = text.recipe.train.optim
    network, optimizer = Network(encoder, head), build_optimizer(encoder, head, optim)
    return our_step(network, optimizer, losses.pretraining(), text.source, optim), text.source


def fine_tuning(data_dir: Path | None, init: str | None) -> tuple[Step, Source]:
    data = finetuning.read_task(data_dir, init)
    head = build_head(data.task, data.encoder, data.recipe.head)
    optim = data.recipe.train.optim
    network, optimizer = Network(data.encoder, head), build_optimizer(data.encoder, head, optim)
    return our_step(network, optimizer, task_score(data.task), data.source, optim), data.source


if __name__ == "__main__":
    main()
