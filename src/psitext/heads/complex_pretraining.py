"""The pre-training heads of complex encoders: masked words, and next sentences as a measurement.

Source: arXiv 2302.13812, section 4.2, "Prediction heads". The paper ties the decoder to the token embedding and takes
moduli of complex scores as logits, so no word can score below 0; with ``logits = "real"`` they are real parts of
overlaps, which is a real product of twice the width. Letters: M predicted tokens, B sequences, D complex width, V
vocabulary.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.encoders.bert import ACTIVATIONS
from psitext.encoders.qbert import LINEAR, ComplexConfig, Qbert
from psitext.heads.pretraining import PretrainingConfig, PretrainingHeads
from psitext.nn.complex.layout import modulus, planar, to_complex
from psitext.nn.complex.linear import ComplexLinear, initialise_complex
from psitext.nn.numerics import MIN_PROBABILITY, unit


class ComplexMaskedWords(nn.Module):
    """Linear, activation, norm, then scores over the vocabulary; complex (M, D) -> real (M, V)."""

    def __init__(self, encoder: Qbert, settings: PretrainingConfig) -> None:
        super().__init__()
        config = encoder.config
        linear, norm = LINEAR[config.linear]
        self.modulus = settings.logits == "modulus"
        self.transform = linear(config.width, config.width)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = norm(config.width, config.norm_eps)
        self.decoder = ComplexLinear(config.width, config.vocab_size, bias=False)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))  # real: added to real scores
        self.apply(partial(initialise_complex, how=config.init))
        if settings.tied:
            self.decoder.weight_re, self.decoder.weight_im = encoder.token.weight_re, encoder.token.weight_im

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the words behind the masks."""
        x = self.norm(self.activation(self.transform(planar(tokens))))  # (2, M, D)
        if self.modulus:
            return modulus(self.decoder(x)) + self.bias
        words = torch.cat([self.decoder.weight_re, self.decoder.weight_im], dim=-1)  # (V, 2 D)
        return F.linear(torch.cat([x[0], x[1]], dim=-1), words, self.bias)  # Re <word|x> + b


class QuantumNextSentence(nn.Module):
    """Does the second text follow? A measurement of the state; complex (B, D) -> (B, 2) logarithms of probabilities.

    A dense layer and unit norm stand for the unitary, which is dear to train; then p(k) is proportional to
    |<state k|psi>|^2 for two learnt pure states, and nothing else is non-linear.
    """

    def __init__(self, config: ComplexConfig) -> None:
        super().__init__()
        self.dense = ComplexLinear(config.width, config.width)
        self.states = ComplexLinear(config.width, 2, bias=False)
        self.apply(partial(initialise_complex, how=config.init))

    def forward(self, vector: Tensor) -> Tensor:
        """Logarithms of the two overlaps over their sum."""
        psi = unit(to_complex(self.dense(planar(vector))))  # (B, D)
        states = unit(torch.complex(self.states.weight_re, self.states.weight_im))  # (2, D)
        overlaps = (psi @ states.conj().T).abs().square().clamp_min(MIN_PROBABILITY)  # (B, 2)
        return (overlaps / overlaps.sum(-1, keepdim=True)).log()


class ModulusNextSentence(nn.Module):
    """A CVBERT's, which is BERT's over the complex numbers: dense, tanh of both parts, dense, moduli; complex (B, D) ->
    (B, 2) logits.
    """

    def __init__(self, config: ComplexConfig) -> None:
        super().__init__()
        self.dense = ComplexLinear(config.width, config.width)
        self.output = ComplexLinear(config.width, 2)
        self.apply(partial(initialise_complex, how=config.init))

    def forward(self, vector: Tensor) -> Tensor:
        """Moduli of two scores."""
        return modulus(self.output(torch.tanh(self.dense(planar(vector)))))


class ComplexPretrainingHead(PretrainingHeads):
    """The two heads of a complex encoder."""

    def __init__(self, encoder: Qbert, config: PretrainingConfig) -> None:
        super().__init__()
        self.words = ComplexMaskedWords(encoder, config)
        next_sentence = ModulusNextSentence if encoder.config.family == "cvbert" else QuantumNextSentence
        self.next = next_sentence(encoder.config) if config.next_sentence else None
