"""Optimisers and their schedules.

Read in this order: ``settings``, ``schedule``, ``turns`` (which part moves at a step), ``groups`` (which weights belong
together, which decay), ``cadamw`` (the update of complex weights).
"""

from psitext.train.optim.cadamw import CAdamW
from psitext.train.optim.groups import build_optimizer
from psitext.train.optim.schedule import factor, set_rate
from psitext.train.optim.settings import OptimConfig
from psitext.train.optim.turns import turn

__all__ = ["CAdamW", "OptimConfig", "build_optimizer", "factor", "set_rate", "turn"]
