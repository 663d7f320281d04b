"""A source's sentences, read once: their posteriors beside the rows that are to be written, and what a decoder makes of
them.

Letters: S sentences, R rows of a decoder's call, T tokens of a row, M predicted tokens, P latent numbers, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from psitext.experiments.latents.records import fingerprint
from psitext.heads.decoding import Decoder, asked
from psitext.nn.numerics import Precision, autocast
from psitext.state import Posterior
from psitext.text.batches import Source
from psitext.train.predict import by_length

SCORES = 1 << 21  # over the vocabulary, that are held at once on a processor: 8 MB of float32
FEWEST = 128  # tokens of a product with the vocabulary in any case: with fewer it takes longer by the token
AHEAD = 32  # times as many scores, and tokens of a call, on an accelerator

Judge = Callable[[Tensor, Tensor], Tensor]  # (M, V) float32 scores, (M,) right words -> (M,) numbers


@dataclass(frozen=True, slots=True)
class Encoded:
    """S sentences, on the CPU, in the order of their source."""

    mean: Tensor  # (S, P) double
    log_var: Tensor  # (S, P) double
    rows: Tensor  # (S, T) int64, bos w1 .. wn eos, then whatever
    lengths: Tensor  # (S,) int64, bos and eos included
    of: str = ""  # names the encoder's weights and the sentences

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def tokens(self) -> Tensor:
        """(S,) predicted tokens: the end of a sentence is one, its beginning is not."""
        return self.lengths - 1


def encoded(encoder: nn.Module, source: Source, batch_tokens: int = 8_192) -> Encoded:
    """Read every sentence of a source once, in float32, without dropout.

    Errors: ValueError for an encoder without posterior.
    """
    device = next((parameter.device for parameter in encoder.parameters()), torch.device("cpu"))
    sizes = source.lengths(0)
    means: list[Tensor] = [torch.empty(0)] * len(sizes)
    log_vars, rows = means.copy(), means.copy()
    was_training = encoder.training
    encoder.eval()
    with torch.inference_mode(), autocast(device, "fp32"):
        for samples in by_length(sizes, batch_tokens):
            batch = source.build(samples, 0)
            state = encoder(batch.to(device))
            if not isinstance(state, Posterior):
                raise ValueError(f"{type(encoder).__name__} makes no posterior, so there is no bound")
            own = (state.vector.double().cpu(), state.log_var.double().cpu(), batch.targets["written"])
            for number, sample in enumerate(samples.tolist()):
                length = int(batch.targets["written_length"][number])
                means[sample], log_vars[sample], rows[sample] = own[0][number], own[1][number], own[2][number, :length]
    encoder.train(was_training)
    lengths = torch.tensor([len(row) for row in rows])
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
    of = fingerprint(encoder, [padded, lengths])
    return Encoded(torch.stack(means), torch.stack(log_vars), padded, lengths, of)


def over_tokens(
    decoder: Decoder, rows: Tensor, lengths: Tensor, latent: Tensor, judge: Judge, precision: Precision = "fp32"
) -> Tensor:
    """(R,) the sum over every row's predicted tokens of what ``judge`` says of each, double, on the CPU.

    ``rows`` (R, T), ``lengths`` (R,) and ``latent`` (R, P) may lie anywhere. Products are in ``precision``; scores come
    to the judge as float32 at least, so many at a time that they fit the memory, whatever V.
    """
    own = next(decoder.parameters())
    rows, lengths, latent = rows.to(own.device), lengths.to(own.device), latent.to(own.device, own.dtype)
    with (
        torch.no_grad(),
        autocast(own.device, precision),
    ):  # not inference mode: in it autocast rounds weights every time
        at = asked(rows, lengths)  # (R, T - 1)
        states, words = decoder.states(rows[:, :-1], latent)[at], rows[:, 1:][at]
        some = max(SCORES * ahead(own.device) // decoder.config.vocab_size, FEWEST)
        room: Tensor | None = None  # of scores, made once: memory that is new for every piece costs more than the sums
        judged = []
        for part, right in zip(states.split(some), words.split(some), strict=True):
            scores = decoder.logits(part)
            if scores.dtype not in (torch.float32, torch.float64):
                room = torch.empty(scores.shape, dtype=torch.float32, device=own.device) if room is None else room
                scores = room[: len(scores)].copy_(scores)
            judged.append(judge(scores, right).double())
        grid = torch.zeros(at.shape, dtype=torch.float64, device=own.device)
        grid[at] = torch.cat(judged)
        return grid.sum(1).cpu()


def ahead(device: torch.device) -> int:
    """How many times the work of a processor's call a call on this device takes."""
    return 1 if device.type == "cpu" else AHEAD


def surprise(scores: Tensor, right: Tensor) -> Tensor:
    """(M,) -log p of the right words, nats: a judge."""
    return F.cross_entropy(scores, right, reduction="none")


def hit(scores: Tensor, right: Tensor) -> Tensor:
    """(M,) 1 where the most probable word is the right one: a judge."""
    return (scores.argmax(-1) == right).double()
