"""Dialogues as turns: what was said before, by whom, and what is answered.

Read in this order: ``reading`` (files to turns), ``rows`` (turns to tokens), ``groups`` (several sequences of one
sample in one batch), ``source``.
"""

from psitext.text.dialogs.groups import joined, parted
from psitext.text.dialogs.reading import Turn, dialogs, plain, turns
from psitext.text.dialogs.rows import Contexts, Dialogs, DialogsConfig, contexts, gather_turns
from psitext.text.dialogs.source import ContextSource, DialogSource, StyleSource

__all__ = [
    "Turn",
    "dialogs",
    "turns",
    "plain",
    "DialogsConfig",
    "Dialogs",
    "Contexts",
    "contexts",
    "gather_turns",
    "DialogSource",
    "StyleSource",
    "ContextSource",
    "joined",
    "parted",
]
