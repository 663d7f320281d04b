"""How generated sentences are judged: ``bleu`` against references or against each other, ``diversity``."""

from psitext.score.text.bleu import References, bleu, self_bleu
from psitext.score.text.diversity import distinct, g_score

__all__ = ["References", "bleu", "self_bleu", "distinct", "g_score"]
