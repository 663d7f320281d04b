"""BERT's two pre-training heads: masked words and next sentence (chapter 15.8.5; Devlin et al. 2019).

The masked positions are gathered before the projection to the vocabulary, which costs V * D for every token it sees
and is the largest product of a small model. Letters: R rows, T tokens, M predicted tokens, B sequences, D width, V
vocabulary.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from psitext.config import Config
from psitext.encoders.bert import ACTIVATIONS, Bert, initialise
from psitext.heads.affine import Prediction, tokens_of
from psitext.state import State
from psitext.text.batches import Batch


class PretrainingConfig(Config):
    """Settings of the pre-training heads."""

    tied: bool = True  # the decoder is the token embedding; the chapter and QBERT's Table 1 count one of its own
    next_sentence: bool = True
    logits: Literal["real", "modulus"] = "real"  # of complex encoders: Re <word|state>, or the paper's |word . state|


class MaskedWords(nn.Module):
    """Linear, activation, norm, then scores over the vocabulary; (M, D) -> (M, V)."""

    def __init__(self, encoder: Bert, tied: bool) -> None:
        super().__init__()
        config = encoder.config
        self.transform = nn.Linear(config.width, config.width)
        self.activation = ACTIVATIONS[config.activation]
        self.norm = nn.LayerNorm(config.width, config.norm_eps)
        self.decoder = nn.Linear(config.width, config.vocab_size)
        self.apply(lambda module: initialise(module, config.init_std))
        if tied:
            self.decoder.weight = encoder.token.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the words behind the masks."""
        logits: Tensor = self.decoder(self.norm(self.activation(self.transform(tokens))))
        return logits


class PretrainingHeads(nn.Module):
    """{"words": (M, V) logits at ``token_at``; "next": (B, 2) logits, class 0 = B follows A}, of any family.

    ``words`` reads (M, D) masked tokens, ``next`` (B, D) vectors; real or complex as the encoder gives them.
    """

    words: nn.Module
    next: nn.Module | None

    def reads(self, batch: Batch) -> Tensor:
        """(M,) places of the masked words."""
        return batch.targets["token_at"]

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Predict the masked words, and whether the second text follows the first."""
        masked = tokens_of(state).flatten(0, 1)[batch.targets["token_at"]]  # (M, D)
        prediction = {"words": self.words(masked)}
        if self.next is not None:
            prediction["next"] = self.next(state.vector)
        return prediction


class PretrainingHead(PretrainingHeads):
    """BERT's two heads."""

    words: MaskedWords
    next: nn.Linear | None

    def __init__(self, encoder: Bert, config: PretrainingConfig) -> None:
        super().__init__()
        self.words = MaskedWords(encoder, config.tied)
        self.next = nn.Linear(encoder.config.width, 2) if config.next_sentence else None
        if self.next is not None:
            initialise(self.next, encoder.config.init_std)
