"""The ways of a queue: how a job is done, and the result lines that it leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from psitext.experiments.queue.plan import Bench, Job
from psitext.experiments.queue.ways import rivals, spaces, states, training
from psitext.experiments.results.lines import ResultLine
from psitext.experiments.shipping import judging
from psitext.train.loop import Hook

WAYS: dict[str, Callable[[Job, Bench, Hook], Iterator[ResultLine]]] = {
    "pretrain": training.pretrained,
    "finetune": training.finetuned,
    "compress": training.compressed,
    "sweep": training.swept,
    "space": spaces.space,
    "space-as-is": spaces.space_as_is,
    "reconstruction": spaces.reconstruction,
    "control": spaces.controlled,
    "respond": spaces.responses,
    "frozen": rivals.frozen_states,
    "baselines": rivals.baselines,
    "bag-of-words": rivals.words,
    "discocat": rivals.discocat,
    "few-labels": states.few_labels,
    "few-labels-tuned": states.few_labels_tuned,
    "plane": states.in_a_plane,
    "lift": states.lifted,
    "kets": states.kets,
    "appendix-a": states.appendix_a,
    **dict.fromkeys(judging.WAYS, states.as_is),
}

__all__ = ["WAYS"]
