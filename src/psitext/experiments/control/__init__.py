"""Sentences with a label that is asked for, from a sentence space that never saw one.

Read in this order: ``fitting`` (labelled sentences to a generator of latents), ``control`` (a label to sentences),
``folder`` (what is on the disk), ``data`` and ``judging`` (how good they are), ``rivals`` (what they are compared
with), ``table`` (a row of the paper's table 6).
"""

from psitext.experiments.control.control import Control
from psitext.experiments.control.fitting import fit
from psitext.experiments.control.folder import load, save

__all__ = ["Control", "fit", "load", "save"]
