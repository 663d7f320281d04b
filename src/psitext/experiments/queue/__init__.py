"""Queues of runs: what stands behind a table or a figure, resumable and never done twice."""

from psitext.experiments.queue.plan import (
    Bench,
    Job,
    Queue,
    Scale,
    Variant,
    at_scale,
    jobs,
    queue_names,
    read_queue,
    recipe_of,
)
from psitext.experiments.queue.work import Show, left, work

__all__ = [
    "Bench",
    "Job",
    "Queue",
    "Scale",
    "Show",
    "Variant",
    "at_scale",
    "jobs",
    "left",
    "queue_names",
    "read_queue",
    "recipe_of",
    "work",
]
