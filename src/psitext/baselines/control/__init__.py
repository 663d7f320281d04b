"""Rivals in writing with a label: an LSTM autoencoder whose decoder is told the label, and what they play against.

Read in this order: ``structured`` (the autoencoder), ``soft`` (sentences that a gradient can pass), ``ctrl_gen``,
``arae``, ``settings``.
"""

from psitext.baselines.control.arae import Arae
from psitext.baselines.control.ctrl_gen import CtrlGen
from psitext.baselines.control.settings import AraeConfig, CtrlGenConfig, RivalConfig
from psitext.baselines.control.structured import Structured

__all__ = ["Arae", "AraeConfig", "CtrlGen", "CtrlGenConfig", "RivalConfig", "Structured"]
