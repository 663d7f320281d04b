"""Which part of a network an update moves: encoder and head together, or in turns.

He et al. 2019 ("Lagging inference networks and posterior collapse", Algorithm 1) train a text VAE aggressively at
first: many updates of the encoder alone, then one of the decoder, so that the approximate posterior keeps up with the
true one. Their inner loop ends when the bound on some batches no longer improves (100 updates at most), and
training turns to ordinary updates when the mutual information on held-out text stops to rise.

Here both lengths are settled before the run: ``encoder_steps`` updates to a turn, for a share ``aggressive`` of all
steps. So whose turn it is is a function of the step: a run that was killed goes on in the middle of a turn, a time
budget is known in advance and the same for all rivals, and no decision hangs on a noisy estimate. What is lost is that
the lengths follow the problem: the share is a setting to be tried, and the bound at the end says which one was right.
"""

from __future__ import annotations

from typing import Literal

from psitext.train.optim.settings import OptimConfig

Turn = Literal["both", "encoder", "head"]


def turn(step: int, steps: int, config: OptimConfig) -> Turn:
    """Whose turn it is at ``step`` (0-based) of ``steps``.

    The first ``aggressive`` of the run, rounded to steps and then down to whole cycles, goes in cycles of
    ``encoder_steps`` updates of the encoder and one of the head. Then both move together.
    """
    cycle = config.encoder_steps + 1
    if step >= round(config.aggressive * steps) // cycle * cycle:
        return "both"
    return "encoder" if step % cycle < config.encoder_steps else "head"
