"""Sentences written from a latent: what every decoder is and does, and the head that trains one.

A language model is the autoencoder whose space has no dimension: with P = 0 a decoder reads no latent, and the same
head, source, bounds and generation serve it. Letters: B sentences, T tokens of a row, M predicted tokens, P latent
numbers, H width, V vocabulary.

Source: Li et al. 2020 (Optimus), eqs. 2 to 4.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from psitext.config import Config, named_by_keys
from psitext.errors import UserError
from psitext.heads.affine import Prediction
from psitext.nn.numerics import float32_scores
from psitext.state import Posterior, State
from psitext.text.batches import Batch

Injection = Literal["memory", "embedding", "both"]


class WritingConfig(Config):
    """What every decoder has."""

    kind: Literal["causal", "lstm"]
    vocab_size: int = Field(default=8_192, gt=0)  # V, of the tokenizer that it writes with
    bos: int = Field(default=1, ge=0)
    eos: int = Field(default=2, ge=0)
    pad: int = Field(default=0, ge=0)
    latent: int = Field(default=32, ge=0)  # P; 0 is a language model
    max_len: int = Field(default=128, gt=1)  # positions

    @property
    def never(self) -> list[int]:
        """The tokens that are not written: ``bos`` and ``pad``, unless one of them is ``eos``, too."""
        return sorted({self.bos, self.pad} - {self.eos})

    @property
    @abstractmethod
    def in_words(self) -> str:
        """What it is, for a reader."""


class CausalConfig(WritingConfig):
    """A causal transformer of ``transformers``' own class, with the latent injected.

    ``injection``: "memory", one key = value slot that every layer attends to; "embedding", added to every token;
    "both", the paper's. ``position_shift``: positions count from 1 where there is a memory, as in the original code.
    """

    kind: Literal["causal"] = "causal"
    model: Literal["gpt2", "llama"] = "gpt2"
    width: int = Field(default=256, gt=0)  # H
    layers: int = Field(default=4, gt=0)
    heads: int = Field(default=4, gt=0)
    kv_heads: int | None = Field(default=None, gt=0)  # of llama; None = as many as heads
    hidden: int = Field(default=1_024, gt=0)
    norm_eps: float = Field(default=1e-5, gt=0)
    rope_theta: float = Field(default=10_000.0, gt=0)  # of llama
    activation: Literal["gelu_new", "gelu"] = "gelu_new"  # of gpt2: its tanh form, or by erf (5e-4 apart), much cheaper
    tied: bool = True  # the output matrix is the token embedding
    dropout: float = Field(default=0.0, ge=0, lt=1)
    init_std: float = Field(default=0.02, gt=0)
    injection: Injection = "both"
    position_shift: bool = True

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"{self.model}, {self.layers} layers of width {self.width}"

    @model_validator(mode="after")
    def _heads_fit(self) -> Self:
        if self.width % self.heads:
            raise ValueError(f"a width of {self.width} cannot be shared over {self.heads} heads")
        if self.kv_heads is not None and self.model != "llama":
            raise ValueError(f"kv_heads is for a llama; a {self.model} has as many keys and values as heads")
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(f"{self.heads} heads cannot share {self.kv_heads} heads of keys and values")
        return self


class LstmConfig(WritingConfig):
    """An LSTM whose first state and every input hold the latent (Bowman et al. 2016; He et al. 2019)."""

    kind: Literal["lstm"] = "lstm"
    features: int = Field(default=512, gt=0)  # of a word
    width: int = Field(default=1_024, gt=0)  # H
    dropout: float = Field(default=0.5, ge=0, lt=1)  # of words read and of states

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"an LSTM of width {self.width}"


DecoderConfig = Annotated[
    CausalConfig | LstmConfig,
    Field(discriminator="kind"),
    named_by_keys(CausalConfig, LstmConfig),
]


@dataclass(frozen=True, slots=True)
class Writing:
    """How sentences are written. The default is greedy; every way ends after ``max_len`` tokens."""

    max_len: int = 64  # tokens, end of sentence included
    beams: int = 1
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0  # 0 = all
    top_p: float = 1.0
    samples: int = 1  # sentences from every latent
    seed: int = 0

    def check(self) -> None:
        """Refuse, in a UserError, numbers out of range and ways that exclude each other."""
        for name in ("max_len", "beams", "samples"):
            if getattr(self, name) < 1:
                raise UserError(f"{name} is at least 1, not {getattr(self, name)}")
        if not 0 < self.temperature < math.inf or not 0 < self.top_p <= 1 or self.top_k < 0:
            raise UserError("temperature is above 0 and finite, top_p above 0 and at most 1, top_k at least 0")
        if self.sample and self.beams > 1:
            raise UserError("sentences are sampled or searched by beams, not both; leave one of them out")
        if not self.sample and self.samples > self.beams:
            raise UserError(
                f"without sampling, {self.samples} sentences from one latent take at least as many beams, "
                f"not {self.beams}"
            )


class Decoder(nn.Module):
    """A conditional language model p(x | z) over rows ``bos w1 .. wn eos``."""

    config: CausalConfig | LstmConfig

    @abstractmethod
    def states(self, ids: Tensor, latent: Tensor) -> Tensor:
        """(B, T, H) the state that predicts the token after each of (B, T) tokens, padding on the right, under (B, P)
        latents; what padding is has no influence on what stands before it.
        """

    @abstractmethod
    def logits(self, states: Tensor) -> Tensor:
        """(..., V) scores of the next token, from (..., H) states."""

    def allowed(self, states: Tensor) -> Tensor:
        """(R, V) scores of what may be written next, from (R, H) states: float32 (float64 stays), and -inf for what is
        never written. Errors: UserError for scores that are not finite, from which any token could seem the best.
        """
        scores = float32_scores(self.logits(states))
        if not bool(scores.isfinite().all()):
            raise UserError(
                "the scores of the next word are not finite: the decoder's training diverged, or its weights are "
                "damaged; train it again, with a lower train.optim.lr or from another seed"
            )
        never = torch.tensor(self.config.never, dtype=torch.int64, device=scores.device)
        return scores.index_fill(-1, never, -torch.inf)

    @abstractmethod
    def write(self, latent: Tensor, how: Writing, prompt: Tensor | None = None) -> Tensor:
        """(B * samples, L) tokens after ``bos`` (and after ``prompt`` (B, S), padded on the left) under (B, P) latents;
        each row ends with ``eos`` or at ``max_len``, then padding. Deterministic, or by ``how.seed`` when sampling.

        Errors: UserError as ``Writing.check`` and ``allowed`` raise it.
        """

    def freeze(self, layers: int) -> None:
        """Train the words' embedding and the lowest ``layers`` layers no more. Errors: UserError for a decoder that has
        no such layers, or not so many.
        """
        raise UserError(f"the decoder is {self.config.in_words}, no layers of which can be frozen; a causal one's can")


class DecodingHead(nn.Module):
    """Posterior -> {"written": (M, V) logits of every token of the target rows but the first, "latent": (B, P)}.

    In training a latent is drawn from the posterior (reparameterised), else it is its mean; without ``noise`` it always
    is: a plain autoencoder. Targets of a batch: ``written`` (B, T) int64 rows ``bos w1 .. wn eos`` padded on the right,
    ``written_length`` (B,) int64.
    """

    def __init__(self, decoder: Decoder, noise: bool = True) -> None:
        super().__init__()
        self.decoder = decoder
        self.noise = noise

    def forward(self, state: State, batch: Batch) -> Prediction:
        """Predict every token of the sentence from the latent and the tokens before it."""
        assert isinstance(state, Posterior)
        latent = drawn(state) if self.training and self.noise else state.vector
        rows, lengths = batch.targets["written"], batch.targets["written_length"]
        states = self.decoder.states(rows[:, :-1], latent)  # (B, T - 1, H)
        return {"written": self.decoder.logits(states[asked(rows, lengths)]), "latent": latent}


def asked(rows: Tensor, lengths: Tensor) -> Tensor:
    """(B, T - 1) True at the tokens of (B, T) rows that predict another one: all but the last of each row."""
    return torch.arange(rows.shape[1] - 1, device=rows.device) < lengths[:, None] - 1


def wanted(batch: Batch) -> Tensor:
    """(M,) the tokens that are to be predicted, in the order of ``DecodingHead``'s logits."""
    rows = batch.targets["written"]
    return rows[:, 1:][asked(rows, batch.targets["written_length"])]


def drawn(state: Posterior) -> Tensor:
    """(B, P) one latent from each posterior, by torch's own generator: mean + sigma * noise."""
    return state.vector + (0.5 * state.log_var).exp() * torch.randn_like(state.vector)
