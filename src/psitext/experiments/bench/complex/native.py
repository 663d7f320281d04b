"""A QBERT in torch's complex64, written as its formulas stand: what one would write without planar layers.

Every module takes the weights of ours, as complex parameters, and computes the same values. torch has no complex
layer norm, GELU, softmax, cross-entropy or gradient of an embedding, so those go by way of real parts, moduli and
indexing. Letters: B sequences, T tokens, D width, H heads, E = D / H, V vocabulary.

Source: arXiv 2302.13812, equations 1 to 7 and section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.encoders.qbert import Qbert, first_tokens
from psitext.heads.complex_pretraining import ComplexMaskedWords, ComplexPretrainingHead, QuantumNextSentence
from psitext.nn import transformer
from psitext.nn.complex.attention import KeyValue, modulus_score, real_score
from psitext.nn.complex.layout import PlanarDropout
from psitext.nn.complex.linear import ComplexEmbedding, ComplexLinear
from psitext.nn.complex.norm import ComplexLayerNorm, FirstNorm
from psitext.nn.numerics import norm
from psitext.text.batches import Batch
from psitext.text.examples import IGNORED

# What the softmax is taken of.
SCORES: dict[transformer.Score, Callable[[Tensor], Tensor]] = {modulus_score: torch.abs, real_score: torch.real}


class Linear(nn.Module):
    """z W^T + b, eq. 1; complex (..., D) -> (..., F)."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        assert isinstance(ours, ComplexLinear)
        self.weight = joined(ours.weight_re, ours.weight_im)
        self.bias = None if ours.bias_re is None or ours.bias_im is None else joined(ours.bias_re, ours.bias_im)

    def forward(self, z: Tensor) -> Tensor:
        """Complex (..., D) -> (..., F)."""
        return F.linear(z, self.weight, self.bias)


class Norm(nn.Module):
    """Complex layer norm, eqs. 2 and 7; first tokens by their length alone, where ours does so."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        self.how = ours.how if isinstance(ours, FirstNorm) else "layer"
        inner = ours.inner if isinstance(ours, FirstNorm) else ours
        assert isinstance(inner, ComplexLayerNorm)
        self.eps = inner.eps
        self.weight, self.bias = joined(inner.weight_re, inner.weight_im), joined(inner.bias_re, inner.bias_im)

    def forward(self, z: Tensor, first: Tensor | None) -> Tensor:
        """Complex z (..., D), first (...) bool -> (..., D)."""
        centred = z - z.mean(-1, keepdim=True)
        variance = (centred * centred.conj()).real.mean(-1, keepdim=True)
        out = centred / torch.sqrt(variance + self.eps) * self.weight + self.bias
        if first is None:
            return out
        ray = z / norm(z)
        return torch.where(first[..., None], ray if self.how == "unit" else ray * z.shape[-1] ** 0.5, out)


class Block(nn.Module):
    """One layer; complex (B, T, D) -> (B, T, D)."""

    def __init__(self, ours: nn.Module) -> None:
        super().__init__()
        assert isinstance(ours, transformer.Block)
        attention = ours.attention
        self.heads, self.score = attention.heads, SCORES[attention.score]
        self.queries = not isinstance(attention.qkv, KeyValue)
        self.project = Linear(attention.qkv.kv if isinstance(attention.qkv, KeyValue) else attention.qkv)
        self.out = nn.Identity() if isinstance(attention.out, nn.Identity) else Linear(attention.out)
        self.attention_norm, self.feed_norm = Norm(ours.attention_norm), Norm(ours.feed_norm)
        self.up, self.down = Linear(ours.up), Linear(ours.down)
        assert ours.activation is F.gelu
        assert isinstance(ours.dropout, PlanarDropout)
        if ours.dropout.rate or attention.dropout:
            raise ValueError("the native layer knows no dropout, so it cannot be compared with one that has some")

    def forward(self, z: Tensor, mask: Tensor | None, first: Tensor | None) -> Tensor:
        """Attend where ``mask``, which broadcasts to (B, H, T, T), is True; ``first`` (B, T) is True on [CLS]."""
        projected = self.project(z)
        q, k, v = projected.chunk(3, -1) if self.queries else (z, *projected.chunk(2, -1))
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (q, k, v))  # (B, H, T, E)
        scores = self.score(q @ k.mH / q.shape[-1] ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        attended = scores.softmax(-1).to(v.dtype) @ v
        z = self.attention_norm(z + self.out(attended.transpose(1, 2).flatten(-2)), first)
        return self.feed_norm(z + self.down(_gelu(self.up(z))), first)  # type: ignore[no-any-return]


class Pretrainer(nn.Module):
    """Encoder and both heads, with logits for every place of padded rows; ``loss`` of a padded batch."""

    def __init__(self, encoder: Qbert, head: ComplexPretrainingHead) -> None:
        super().__init__()
        assert encoder.norm is not None
        words, follows = head.words, head.next
        assert isinstance(words, ComplexMaskedWords)
        assert isinstance(follows, QuantumNextSentence)
        self.first = encoder.config.first
        self.token, self.position, self.segment = map(_rows, (encoder.token, encoder.position, encoder.segment))
        self.norm = Norm(encoder.norm)
        self.blocks = nn.ModuleList(Block(block) for block in encoder.blocks)
        self.tied = words.decoder.weight_re is encoder.token.weight_re
        self.transform, self.transform_norm = Linear(words.transform), Norm(words.norm)
        self.words = self.token if self.tied else joined(words.decoder.weight_re, words.decoder.weight_im)
        self.modulus, self.bias = words.modulus, nn.Parameter(words.bias.detach().clone())
        self.next, self.states = Linear(follows.dense), Linear(follows.states)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logits (B, T, V) of every place and log-probabilities (B, 2) of the next sentence."""
        z = self.token[batch.ids] + self.position[batch.positions] + self.segment[batch.segments]
        first, mask = None if self.first == "layer" else first_tokens(batch), batch.mask()
        z = self.norm(z, first)
        for block in self.blocks:
            z = block(z, mask, first)
        words = self.transform_norm(_gelu(self.transform(z)), None)
        scores = (words @ self.words.T).abs() if self.modulus else (words @ self.words.mH).real
        return scores + self.bias, self._follows(z[:, 0])

    def loss(self, batch: Batch) -> Tensor:
        """Masked words and next sentence, both in the mean."""
        words, follows = self(batch)
        labels = torch.full((batch.ids.numel(),), IGNORED)
        labels[batch.targets["token_at"]] = batch.targets["token_label"]
        return F.cross_entropy(words.flatten(0, 1), labels, ignore_index=IGNORED) + F.cross_entropy(
            follows, batch.targets["next"], ignore_index=IGNORED
        )

    def _follows(self, cls: Tensor) -> Tensor:
        psi, states = (_unit(part) for part in (self.next(cls), self.states.weight))
        overlaps = (psi @ states.mH).abs() ** 2
        return (overlaps / overlaps.sum(-1, keepdim=True)).log()


def joined(re: Tensor, im: Tensor) -> nn.Parameter:
    """Two halves as one complex parameter of its own memory."""
    return nn.Parameter(torch.complex(re.detach(), im.detach()))


def _rows(ours: ComplexEmbedding) -> nn.Parameter:
    return joined(ours.weight_re, ours.weight_im)


def _gelu(z: Tensor) -> Tensor:
    return torch.complex(F.gelu(z.real), F.gelu(z.imag))  # eq. 6


def _unit(z: Tensor) -> Tensor:
    return z / norm(z)
