"""Causal decoders of transformers' own classes, with a latent or without one.

Read in this order: ``injection`` (how a latent gets into attention), ``settings`` and ``networks`` (our config becomes
their model), ``causal`` (the decoder), ``writing`` (how it writes), ``folder`` (checkpoints in and out),
``original`` (checkpoints of the original Optimus), ``gguf`` (Llamas in one quantised file).
"""

from psitext.hf.decoders.causal import CausalDecoder

__all__ = ["CausalDecoder"]
