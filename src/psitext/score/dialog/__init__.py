"""Objectives of dialogue, and what its answers are worth.

``fusion`` (two sets of latents that share a space), ``rivals`` (what it is compared with), ``answers`` (recall and
precision of several answers).
"""

from typing import Annotated

from pydantic import Field

from psitext.config import named_by_keys
from psitext.score.dialog.fusion import FusionConfig, fusion
from psitext.score.dialog.rivals import CvaeConfig, Seq2SeqConfig, cvae, seq2seq

# How contexts are made to be answered.
MethodConfig = Annotated[
    FusionConfig | Seq2SeqConfig | CvaeConfig,
    Field(discriminator="kind"),
    named_by_keys(FusionConfig, Seq2SeqConfig, CvaeConfig),
]

__all__ = ["MethodConfig", "FusionConfig", "Seq2SeqConfig", "CvaeConfig", "fusion", "seq2seq", "cvae"]
