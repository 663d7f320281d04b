"""A model as a graph of tensors: token ids and masks in, named states and scores out.

Rows are padded, one text each, [CLS] first. Letters: B texts, L tokens, D width, K classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from psitext.encoders.bert import Bert
from psitext.encoders.qbert import Qbert
from psitext.encoders.qcls import Qcls
from psitext.encoders.rac import Rac
from psitext.encoders.vae import Nothing, Vae
from psitext.errors import UserError
from psitext.experiments.export.plain import PlainLinear, PlainQbert, moduli
from psitext.experiments.export.recurrence import PlainRac
from psitext.heads.affine import SequenceHead, SpanHead, TokenHead
from psitext.heads.measurement import MeasurementHead
from psitext.heads.modulus import ModulusHead
from psitext.model import Model
from psitext.nn.complex.layout import side_by_side
from psitext.nn.numerics import unit
from psitext.text.batches import Batch


@dataclass(frozen=True, slots=True)
class Seen:
    """What a graph knows of B texts once it has read them."""

    named: Mapping[str, Tensor]  # the state, by the names of the outputs
    real: Tensor  # (B, D) or (B, 2 D): ``State.to_real``
    planar: Tensor  # (2, B, D), before any scale
    tokens: Tensor | None = None  # (B, L, .) real, imaginary parts after real ones
    segments: Tensor | None = None  # (B, L)
    there: Tensor | None = None  # (B, L) True on tokens


class Padded(Batch):
    """Rows of one text each; what looks at values to save work does the work here instead."""

    def mask(self) -> Tensor:
        """(B, 1, 1, L), also of full rows."""
        return (self.owner > 0)[:, None, None, :]

    def sequences(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The rows themselves."""
        return rows, self.owner > 0


class RealReader(nn.Module):
    """A BERT, or the Gaussian of one."""

    def __init__(self, encoder: Bert | Vae) -> None:
        super().__init__()
        self.trunk = encoder.trunk if isinstance(encoder, Vae) else encoder
        self.space = encoder if isinstance(encoder, Vae) else None

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> Seen:
        """All (B, L)."""
        batch = _padded(ids, mask, segments)
        if self.space is not None:
            posterior = self.space(batch)
            named = {"mean": posterior.vector, "log_var": posterior.log_var}
            return Seen(named, posterior.vector, _planar(posterior.vector))
        state = self.trunk(batch)
        vector = state.vector
        return Seen({"state": vector}, vector, _planar(vector), state.tokens, segments, mask > 0)


class ComplexReader(nn.Module):
    """A complex transformer, or the mean of complex word vectors."""

    def __init__(self, encoder: Qbert | Qcls) -> None:
        super().__init__()
        self.pool = encoder.config.pool
        self.tokens = PlainQbert(encoder) if isinstance(encoder, Qbert) else None
        self.words = encoder.token if isinstance(encoder, Qcls) else None

    def forward(self, ids: Tensor, mask: Tensor, segments: Tensor) -> Seen:
        """All (B, L)."""
        there = mask > 0
        if self.tokens is not None:
            x = self.tokens(ids, _places(ids), segments, there[:, None, None, :])  # (2, B, L, D)
        else:
            assert self.words is not None
            x = self.words(ids)
        mean = self.pool == "mean"
        vector = (x * there[..., None]).sum(2) / there.sum(1)[:, None] if mean else x[:, :, 0]
        real = side_by_side(vector)
        if self.words is not None:
            real = unit(real)
            vector = torch.stack(real.chunk(2, dim=-1))
        named = {"state_re": vector[0], "state_im": vector[1]}
        return Seen(named, real, vector, side_by_side(x), segments, there)


class CircuitReader(nn.Module):
    """A recurrent arithmetic circuit; the state is ``state * exp(log_scale)``."""

    def __init__(self, encoder: Rac, marks: list[int], keep: str) -> None:
        super().__init__()
        self.run = PlainRac(encoder, marks, keep)

    def forward(self, ids: Tensor, mask: Tensor) -> Seen:
        """Both (B, L)."""
        vector, log_scale = self.run(ids, mask)
        real = vector * log_scale.exp()[:, None]
        return Seen({"state": vector, "log_scale": log_scale}, real, _planar(vector))


class Affine(nn.Module):
    """Scores of a text."""

    def __init__(self, head: SequenceHead) -> None:
        super().__init__()
        self.output = head.output

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """``logits`` (B, K)."""
        return {"logits": self.output(seen.real)}


class Tags(nn.Module):
    """Scores of every token."""

    def __init__(self, head: TokenHead) -> None:
        super().__init__()
        self.output = head.output

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """``token_logits`` (B, L, K)."""
        return {"token_logits": self.output(seen.tokens)}


class Spans(nn.Module):
    """First and last token of an answer."""

    def __init__(self, head: SpanHead) -> None:
        super().__init__()
        self.output = head.output

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """``span_logits`` (B, L, 2), -inf outside the second text."""
        assert seen.there is not None
        assert seen.segments is not None
        passage = seen.there & (seen.segments == 1)
        return {"span_logits": self.output(seen.tokens).masked_fill(~passage[..., None], float("-inf"))}


class Measured(nn.Module):
    """Born probabilities behind a unitary matrix, read by one real matrix."""

    turn: Tensor
    weight: Tensor
    bias: Tensor | None

    def __init__(self, head: MeasurementHead) -> None:
        super().__init__()
        unitary = head.unitary().detach().cpu()
        weight, bias = head.readout()
        outcomes = head.outcomes
        group = torch.arange(outcomes.width) * outcomes.count // outcomes.width  # each basis state's outcome
        self.padding = len(unitary) - head.width
        self.register_buffer("turn", torch.stack([unitary.real, unitary.imag]).float())
        self.register_buffer("weight", weight.cpu()[:, group].float())
        self.register_buffer("bias", None if bias is None else bias.cpu().float())

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """``logits`` (B, K)."""
        ket = unit(side_by_side(seen.planar))
        re, im = (nn.functional.pad(part, (0, self.padding)) for part in ket.chunk(2, dim=-1))
        across = re @ self.turn[0].T - im @ self.turn[1].T, re @ self.turn[1].T + im @ self.turn[0].T
        probabilities = across[0].square() + across[1].square()
        return {"logits": nn.functional.linear(probabilities, self.weight, self.bias)}


class Moduli(nn.Module):
    """Moduli of a complex dense layer."""

    def __init__(self, head: ModulusHead) -> None:
        super().__init__()
        self.dense = PlainLinear(head.dense)
        self.score = head.outputs == 1

    def forward(self, seen: Seen) -> dict[str, Tensor]:
        """``logits`` (B, K); a score is the difference of two moduli."""
        width = seen.planar.shape[-1]
        same = seen.real.shape[-1] == 2 * width
        sizes = moduli(self.dense(torch.stack(seen.real.chunk(2, dim=-1)) if same else _planar(seen.real)))
        return {"logits": sizes[:, 1:] - sizes[:, :1] if self.score else sizes}


HEADS: dict[type[nn.Module], Callable[..., nn.Module]] = {
    SequenceHead: Affine,
    TokenHead: Tags,
    SpanHead: Spans,
    MeasurementHead: Measured,
    ModulusHead: Moduli,
}


class Graph(nn.Module):
    """(B, L) int64 ids, masks and, where texts come in pairs, segments -> the tensors of ``outputs``, in that order."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.reader = _reader(model)
        self.types = isinstance(self.reader, RealReader | ComplexReader) and (
            model.task is None or model.task.pair is not None
        )
        made = HEADS.get(type(model.network.head))
        if made is None and model.task is not None:
            raise UserError(f"a {model.task.kind} head of this kind has no ONNX form; export its encoder under a pool")
        self.head = None if made is None else made(model.network.head)
        self.eval()

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of what it takes."""
        return ("input_ids", "attention_mask", *(("token_type_ids",) if self.types else ()))

    def named(self, ids: Tensor, mask: Tensor, segments: Tensor | None = None) -> dict[str, Tensor]:
        """Every output by its name."""
        both = (
            () if isinstance(self.reader, CircuitReader) else (torch.zeros_like(ids) if segments is None else segments,)
        )
        seen: Seen = self.reader(ids, mask, *both)
        return {**seen.named, **({} if self.head is None else self.head(seen))}

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        """The outputs."""
        return tuple(self.named(input_ids, attention_mask, token_type_ids).values())


def _reader(model: Model) -> nn.Module:
    encoder, text = model.network.encoder, model.text
    if isinstance(encoder, Rac):
        tokenizer = model.tokenizer
        marks = [tokenizer.cls, tokenizer.sep, *([tokenizer.unk] if text.unknown == "drop" else [])]
        return CircuitReader(encoder, marks, text.keep)
    if isinstance(encoder, Nothing):
        raise UserError("a language model has no encoder, which is what is written as ONNX; --to hf writes it whole")
    if not isinstance(encoder, Bert | Vae | Qbert | Qcls):
        raise UserError(
            f"a {model.encoder.config.family} encoder has no ONNX form; those of bert, qbert, cvbert, qcls, rac and "
            "vae have one"
        )
    if text.unknown == "drop":
        raise UserError(
            "this model leaves unknown words out before it reads, which its graph cannot; text.unknown = keep can"
        )
    return RealReader(encoder) if isinstance(encoder, Bert | Vae) else ComplexReader(encoder)


def _padded(ids: Tensor, mask: Tensor, segments: Tensor) -> Padded:
    rows, width = ids.shape
    return Padded(
        ids=ids,
        segments=segments,
        positions=_places(ids),
        owner=mask,
        starts=torch.arange(rows) * width,
        lengths=mask.sum(1),
        samples=np.empty(0, dtype=np.int64),
    )


def _places(ids: Tensor) -> Tensor:
    return torch.arange(ids.shape[1]).expand(ids.shape)


def _planar(real: Tensor) -> Tensor:
    return torch.stack([real, torch.zeros_like(real)])
