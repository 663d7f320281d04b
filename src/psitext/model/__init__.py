"""A model: an encoder, its head, its named tokenizers and its labels, in one folder.

Read in this order: ``model`` (what a user holds in hand), ``answers`` (texts in, answers out), ``scores``,
``folder`` (what is on the disk), ``loading``.
"""

from psitext.model.answers import Answer
from psitext.model.loading import from_hf, load, with_pool
from psitext.model.model import PLAIN, TEXT, Model, Sentences
from psitext.model.scores import evaluate_network

__all__ = ["Answer", "Model", "load", "from_hf", "with_pool", "evaluate_network", "Sentences", "TEXT", "PLAIN"]
