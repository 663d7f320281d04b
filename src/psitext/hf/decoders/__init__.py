"""Causal decoders of transformers' own classes, with a latent or without one.

Read in this order: ``injection`` (how a latent gets into attention), ``settings`` and ``networks`` (our config becomes
their model), ``causal`` (the decoder), ``writing`` (how it writes), ``folder`` (checkpoints in and out),
``original`` (checkpoints of the original Optimus), ``gguf`` (Llamas in one quantised file).
"""

from psitext.hf.decoders.causal import CausalDecoder
from psitext.hf.decoders.folder import LanguageModel, read_decoder, write_decoder
from psitext.hf.decoders.gguf import read_gguf
from psitext.hf.decoders.original import Space, read_optimus

__all__ = ["CausalDecoder", "LanguageModel", "Space", "read_decoder", "read_gguf", "read_optimus", "write_decoder"]
