"""Queues at the paper's own sizes: which there are, and that whoever types their commands has named every model."""

from __future__ import annotations

import re

import pytest

from psitext.errors import UserError
from psitext.experiments.queue.plan import FULL, at_scale, queue_names, read_queue


def test_known_scales() -> None:
    assert at_scale("rac/figure-4", "mini") == "rac/figure-4"
    assert at_scale("rac/figure-4", "full") == at_scale("rac/figure-4-full", "full") == "rac/figure-4-full"
    assert at_scale("qbert/appendix-a", "full") == "qbert/appendix-a", "its sizes are the paper's"
    assert at_scale("own.toml", "full") == "own.toml"
    with pytest.raises(
        UserError, match=r"qbert/lift has one scale only; .* are there for: .*optimus/table-1, .*rac/rt$"
    ):
        at_scale("qbert/lift", "full")


OURS = {
    "bert/adaptation", "bert/glue-minilm", "bert/pretraining-gain", "optimus/llama", "optimus/reconstruction",
    "qbert/ablation", "qbert/lift", "rac/accuracy", "rac/compression", "rac/starts", "shipped/encoders",
    "shipped/reviews", "shipped/sentences", "states/kets",
}  # fmt: skip


def test_law_every_table_and_figure_of_a_paper_has_its_own_sizes() -> None:
    """All but what no paper has: those questions are ours, and their sizes, too."""
    alone = {name for name in queue_names() if not name.endswith(FULL)} - OURS
    assert {at_scale(name, "full").removesuffix(FULL) for name in alone} == alone
    assert all((read_queue(name).scale == "full") == name.endswith(FULL) for name in queue_names())


@pytest.mark.parametrize("name", [name for name in queue_names() if name.endswith(FULL)])
def test_law_a_command_of_full_scale_names_every_model_that_its_runs_start_from(name: str) -> None:
    queue = read_queue(name)
    own = {run.name for run in queue.runs}
    named = {
        one for run in queue.runs for one in (run.init, run.encoder, run.decoder, run.dialog.judge) if one is not None
    } - own
    assert set(re.findall(r"--init ([\w-]+)=", queue.command)) == named
    assert f"psitext reproduce {name.removesuffix(FULL)} --scale full" in queue.command
