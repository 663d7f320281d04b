"""What a fused dialogue space is compared with, from the same halves: Seq2Seq and CVAE."""

from psitext.baselines.dialog.cvae import Cvae, CvaeHead
from psitext.baselines.dialog.seq2seq import Seq2Seq

__all__ = ["Seq2Seq", "Cvae", "CvaeHead"]
