"""One process is the main one and waits for nobody (several are tested in cli/test_ranks.py)."""

from __future__ import annotations

from psitext.experiments.runs import ranks


def test_known_alone() -> None:
    assert ranks.is_main()
    done = []
    with ranks.main_first():
        done.append(1)
    ranks.wait()
    assert done == [1]
    accelerator = ranks.accelerator()
    assert (accelerator.num_processes, accelerator.process_index) == (1, 0)
