"""The likelihood of sentences under a space, from below, by importance weights: log p_K of Burda et al. 2016 (eq. 8).

The encoder runs once. Draws of all sentences lie in one long line, sentences sorted by length, and the decoder takes as
many (sentence, draw) pairs of it at a time as fit a budget of tokens; sums of weights go on from call to call. A
language model has no latent: one "draw" gives its likelihood, exactly.

Letters: S sentences, K draws of each, R pairs of a call, P latent numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from psitext.errors import UserError
from psitext.experiments.latents.encoded import Encoded, ahead, encoded, over_tokens, surprise
from psitext.experiments.latents.records import Record, Records, fingerprint
from psitext.experiments.runs import ranks
from psitext.heads.decoding import Decoder
from psitext.nn.numerics import Precision, autocast
from psitext.randomness import bits
from psitext.score import latents
from psitext.score.elbo import kl_per_dimension
from psitext.text.batches import Ints, Source

Floats = npt.NDArray[np.float64]
Tell = Callable[[int, int], None]  # pairs that are done, of so many


@dataclass(frozen=True, slots=True)
class Draws:
    """How a bound is taken. Errors: UserError where there is no draw or no token."""

    k: int = 100  # draws of each sentence
    seed: int = 0
    batch_tokens: int = 2_048  # predicted tokens of a decoder's call, padding included; on an accelerator 32 times that
    precision: Precision = "fp32"  # of products; sums and log-sum-exps are wider

    def __post_init__(self) -> None:
        for name, what in (("k", "draws of each sentence"), ("batch_tokens", "tokens of a decoder's call")):
            if getattr(self, name) < 1:
                raise UserError(f"{name} counts the {what}, at least 1, not {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of S sentences, nats per sentence, in the order of the source."""

    log_p: Floats  # log p_K: at most log p(x) in expectation; of a language model log p(x)
    rec: Floats  # -log p(x|z), mean over the same draws
    kl: Floats  # KL(q(z|x) || p(z)), exact
    tokens: Ints  # predicted: the end of a sentence is one, its beginning is not

    @property
    def elbo(self) -> Floats:
        """-(rec + kl): with the exact KL term its noise is that of ``rec`` alone."""
        return -(self.rec + self.kl)


def iwae(
    encoder: nn.Module,
    decoder: Decoder,
    source: Source,
    draws: Draws | None = None,
    folder: Path | None = None,
    tell: Tell = lambda done, of: None,
) -> Bounds:
    """The bound of every sentence of a source; ``folder`` keeps what is done, and a second call goes on from there.

    Where several processes run under ``accelerate`` each takes its share of the sentences, and all of them get all
    bounds. Errors: UserError for records of another model, source or settings in the folder.
    """
    return bounds(decoder, encoded(encoder, source), draws or Draws(), folder, tell)


def bounds(
    decoder: Decoder,
    read: Encoded,
    draws: Draws,
    folder: Path | None = None,
    tell: Tell = lambda done, of: None,
) -> Bounds:
    """The same of sentences that were read. The noise of draw k of sentence s is a function of (seed, s, k), so no
    bound depends on how the work was cut, but for the rounding of products.
    """
    if read.mean.shape[1] != decoder.config.latent:
        raise ValueError(f"latents of {read.mean.shape[1]} numbers for a decoder of {decoder.config.latent}")
    k = draws.k if read.mean.shape[1] else 1  # all draws of no number are the same
    settings = f"{read.of} {k} {draws.seed} {draws.precision}"
    records = Records(folder, "" if folder is None else fingerprint(decoder, [], settings))
    kept = records.read()
    order = np.argsort(-read.lengths.numpy(), kind="stable")  # longest first: the first call shows whether memory does
    number, count = ranks.place()
    mine = np.asarray([sentence for sentence in order[number::count].tolist() if sentence not in kept], dtype=np.int64)
    was_training = decoder.training
    decoder.eval()
    with torch.no_grad(), autocast(next(decoder.parameters()).device, draws.precision):  # weights are rounded once
        for record in _weighed(decoder, read, mine, k, draws, tell):
            records.add(record)
            kept[record.sentence] = record
    decoder.train(was_training)
    found = _gathered(kept, count)
    log_p, rec, kl = (
        np.asarray([getattr(found[sentence], name) for sentence in range(len(read))]) for name in ("log_p", "rec", "kl")
    )
    return Bounds(log_p, rec, kl, read.tokens.numpy())


def _weighed(decoder: Decoder, read: Encoded, mine: Ints, k: int, draws: Draws, tell: Tell) -> Iterator[Record]:
    """A record of each sentence when its last draw is done."""
    kl = kl_per_dimension(read.mean, read.log_var).sum(1)
    total = torch.full((len(read),), -torch.inf, dtype=torch.float64)  # log-sum-exp of the weights so far
    likelihood = torch.zeros(len(read), dtype=torch.float64)  # sum of log p(x|z) so far
    room = draws.batch_tokens * ahead(next(decoder.parameters()).device)
    for pairs in _calls(read.lengths.numpy()[mine], k, room):
        sentences, draw = torch.from_numpy(mine[pairs // k]), pairs % k
        mean, log_var = read.mean[sentences], read.log_var[sentences]
        eps = noise(draws.seed, sentences.numpy(), draw, mean.shape[1])
        rows = read.rows[sentences, : int(read.lengths[sentences].max())]
        z = latents.latents(eps, mean, log_var)
        log_p_z = -over_tokens(decoder, rows, read.lengths[sentences], z, surprise, draws.precision)
        weights = latents.log_weights(log_p_z, eps, mean, log_var)
        done, counts = np.unique(pairs // k, return_counts=True)
        for sentence, own, some in zip(
            mine[done], weights.split(counts.tolist()), log_p_z.split(counts.tolist()), strict=True
        ):
            total[sentence] = latents.merged(total[sentence], own)
            likelihood[sentence] += some.sum()
        for sentence in mine[done[(done + 1) * k <= pairs[-1] + 1]].tolist():
            log_p = float(latents.bound(total[sentence], k))
            yield Record(sentence, log_p, float(-likelihood[sentence] / k), float(kl[sentence]))
        tell(int(pairs[-1]) + 1, len(mine) * k)


def _calls(lengths: Ints, k: int, batch_tokens: int) -> Iterator[Ints]:
    """Numbers of (sentence, draw) pairs, sentence by sentence, as many as fit a call; ``lengths`` descend."""
    first = 0
    while first < len(lengths) * k:
        most = max(batch_tokens // int(lengths[first // k] - 1), 1)
        yield np.arange(first, min(first + most, len(lengths) * k))
        first += most


def noise(seed: int, sentences: Ints, draws: Ints, width: int) -> Tensor:
    """(R, P) standard normal numbers, double, each a function of (seed, sentence, draw, dimension)."""
    drawn = bits(seed, "iwae", sentences[:, None], draws[:, None], np.arange(width))
    inside = (
        (drawn >> np.uint64(12)).astype(np.float64) + 0.5
    ) * 2.0**-52  # of (0, 1): at its ends there is no quantile
    normal: Tensor = torch.special.ndtri(torch.from_numpy(inside))
    return normal


def _gathered(own: dict[int, Record], processes: int) -> dict[int, Record]:
    """The records of all processes."""
    if processes == 1:
        return own
    from accelerate.utils import gather_object

    return {record.sentence: record for record in gather_object(list(own.values()))}
