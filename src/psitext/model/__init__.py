"""A model: an encoder, its head, its named tokenizers and its labels, in one folder.

Read in this order: ``model`` (what a user holds in hand), ``answers`` (texts in, answers out), ``writing``
(latents in, sentences out), ``scores``, ``folder`` (what is on the disk), ``loading``.
"""

from psitext.model.answers import Answer
from psitext.model.loading import from_hf, load, with_pool
from psitext.model.model import PLAIN, TEXT, WRITTEN, Model, Sentences
from psitext.model.scores import evaluate_network
from psitext.model.writing import decoder_of

__all__ = [
    "Answer",
    "Model",
    "load",
    "from_hf",
    "with_pool",
    "evaluate_network",
    "decoder_of",
    "Sentences",
    "TEXT",
    "WRITTEN",
    "PLAIN",
]
