"""Responses to dialogues, from a sentence space, and in a style.

Read in this order: ``start`` (the halves of a run), ``methods`` (fusion and its rivals), ``training``, ``responder``
(what a finished run answers), ``styling`` (text of a style, and its judges), ``scoring`` (what answers are worth),
``ways`` (the paper's tables 4 and 5).
"""

from psitext.experiments.dialog.responder import Answering, Responder, load_responder
from psitext.experiments.dialog.training import respond, respond_run

__all__ = ["respond", "respond_run", "load_responder", "Responder", "Answering"]
