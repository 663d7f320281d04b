"""Ctrl-Gen and ARAE trained on the same sentences as what they are compared with.

Read in this order: ``rows`` (labelled sentences as tokens), ``ctrl_gen`` and ``arae`` (who plays, and for what),
``training`` (how long).
"""

from psitext.experiments.control.rivals.training import Rival, train_rival

__all__ = ["Rival", "train_rival"]
