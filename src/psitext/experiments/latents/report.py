"""A sentence space on one page: likelihood in three units, the two halves of its bound, what its latents tell.

Perplexities of two models compare only in one unit and under one rule for the ends of sentences. Here a sentence of n
tokens counts n + 1, with its end and without its beginning, which nothing predicts; of w words w + 1, of b bytes b + 1.

Letters: S sentences, K draws of each, P latent numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from psitext.errors import UserError
from psitext.experiments.latents.bounds import Bounds, Draws, Tell, bounds, noise
from psitext.experiments.latents.encoded import Encoded, ahead, encoded, hit, over_tokens
from psitext.heads.decoding import Decoder, DecodingHead
from psitext.model import Model
from psitext.model.model import TEXT
from psitext.nn.numerics import Precision
from psitext.score.latents import Information, active_units, latents, mutual_information
from psitext.text.batches import Source
from psitext.text.tokenizer import Tokenizer
from psitext.text.twofold import Counts, SentencesConfig, TwofoldSource, gather

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a space from S sentences; nats are per sentence, means over sentences."""

    sentences: int
    counts: Counts  # what was read, and what was left out as empty or too long
    k: int  # draws of each sentence; 1 for a language model, whose likelihood is exact
    seed: int
    latent: int  # P
    log_p_bound: float  # nats, log p_K: at most log p(x) in expectation
    neg_elbo: float  # nats, rec + kl
    rec: float  # nats, -log p(x|z) over the same draws
    kl: float  # nats, KL(q(z|x) || p(z))
    mi_sentences: int  # the next four are of these
    mi: float  # nats, I_q(x, z)
    log_n: float  # nats, its ceiling
    kl_marginal: float  # nats, KL(q(z) || p(z))
    active_units: int  # of P
    tokens: int  # ends of sentences included, also of words and bytes
    words: int
    bytes: int
    token_accuracy: float  # the likeliest next token is the right one, after right ones, from the mean

    def ppl(self, unit: str, nats: float | None = None) -> float:
        """Perplexity by "token", "word" or "byte", of the bound, or of another number of ``nats`` per sentence."""
        count = {"token": self.tokens, "word": self.words, "byte": self.bytes}[unit]
        spent = (-self.log_p_bound if nats is None else nats) * self.sentences / count
        return math.exp(spent) if spent < math.log(np.finfo(float).max) else math.inf

    @property
    def ppl_token(self) -> float:
        """Perplexity per token, by the bound."""
        return self.ppl("token")

    @property
    def ppl_word(self) -> float:
        """Perplexity per word between white space, by the bound."""
        return self.ppl("word")

    @property
    def ppl_byte(self) -> float:
        """Perplexity per byte of UTF-8, by the bound."""
        return self.ppl("byte")

    def record(self) -> dict[str, float]:
        """Every number by name, for a result line."""
        units = {f"ppl_{unit}": self.ppl(unit) for unit in ("token", "word", "byte")}
        looser = {f"ppl_{unit}_elbo": self.ppl(unit, self.neg_elbo) for unit in ("token", "word", "byte")}
        names = [name for name in self.__slots__ if name != "counts"]
        left_out = {f"left_out_{name}": getattr(self.counts, name) for name in ("empty", "many_words", "many_tokens")}
        return {name: float(getattr(self, name)) for name in names} | units | looser | left_out


def latent_report(
    model: Model,
    texts: Sequence[str],
    *,
    mi_texts: Sequence[str] | None = None,
    k: int = 100,
    seed: int = 0,
    precision: Precision = "fp32",
    batch_tokens: int | None = None,
    limits: SentencesConfig | None = None,
    folder: Path | None = None,
    tell: Tell = lambda done, of: None,
) -> Report:
    """Judge a model that writes on ``texts``, one sentence each; mutual information and active units on ``mi_texts``,
    where more are at hand.

    ``limits`` says which sentences are too long; the model's own lengths count in any case. ``folder`` keeps the bounds
    of sentences that are done. Errors: a model that does not write; no draw; fewer than two sentences that are short
    enough; records of another model in the folder.
    """
    how = Draws(k=k, seed=seed, precision=precision)
    how = how if batch_tokens is None else Draws(k, seed, batch_tokens, precision)
    head = model.network.head
    if not isinstance(head, DecodingHead):
        raise UserError("this model does not write sentences, so they have no likelihood; an autoencoder's have")
    source = sentences_for(model, texts, limits)
    more = source if mi_texts is None else sentences_for(model, mi_texts, limits)
    encoder = model.network.encoder
    return report(encoder, head.decoder, source, source.sentences.counts, source.texts, more, how, folder, tell)


def report(
    encoder: nn.Module,
    decoder: Decoder,
    source: Source,
    counts: Counts,
    texts: Sequence[str],
    more: Source,
    draws: Draws,
    folder: Path | None = None,
    tell: Tell = lambda done, of: None,
) -> Report:
    """The report of two modules on a source whose sentences are ``texts``; ``more`` may be the same source."""
    read = encoded(encoder, source)
    wide = read if more is source else encoded(encoder, more)
    if len(wide) < 2:
        raise UserError("what latents tell of sentences shows between them; give at least two")
    found = bounds(decoder, read, draws, folder, tell)
    told = information(wide, draws.seed)
    return Report(
        sentences=len(read),
        counts=counts,
        k=draws.k if decoder.config.latent else 1,
        seed=draws.seed,
        latent=decoder.config.latent,
        **_means(found),
        mi_sentences=len(wide),
        mi=told.mutual,
        log_n=told.ceiling,
        kl_marginal=told.marginal_kl,
        active_units=int(active_units(wide.mean).sum()),
        tokens=int(found.tokens.sum()),
        words=sum(len(text.split()) + 1 for text in texts),
        bytes=sum(len(text.encode()) + 1 for text in texts),
        token_accuracy=accuracy(decoder, read, draws),
    )


def sentences_for(model: Model, texts: Sequence[str], limits: SentencesConfig | None = None) -> TwofoldSource:
    """The sentences that a model can read and write, as it does. Errors: none is left."""
    limits = limits or SentencesConfig()
    reader = model.tokenizers.get(TEXT)
    assert reader is None or isinstance(reader, Tokenizer)
    assert isinstance(model.network.head, DecodingHead)
    config = model.network.head.decoder.config
    longest = getattr(model.network.encoder.config, "max_len", limits.max_len)
    shorter = {
        "max_len": min(limits.max_len, int(longest)),
        "max_tokens": min(limits.max_tokens, config.max_len - 1),  # a memory may take the first position
    }
    kept = gather(texts, reader, model.writer, limits.model_copy(update=shorter))
    return TwofoldSource(kept, reader, model.writer)


def information(read: Encoded, seed: int) -> Information:
    """Mutual information of S sentences and their latents, by one keyed draw of each."""
    eps = noise(seed, np.arange(len(read)), np.zeros(len(read), dtype=np.int64), read.mean.shape[1])
    return mutual_information(read.mean, read.log_var, latents(eps, read.mean, read.log_var))


def accuracy(decoder: Decoder, read: Encoded, draws: Draws) -> float:
    """The share of tokens that are the decoder's first choice, from the means, after the right tokens before them."""
    room = draws.batch_tokens * ahead(next(decoder.parameters()).device)
    order = torch.argsort(read.lengths, descending=True, stable=True)
    right, first = 0.0, 0
    was_training = decoder.training
    decoder.eval()
    while first < len(order):
        longest = int(read.lengths[order[first]])
        some = order[first : first + max(room // longest, 1)]
        rows = read.rows[some, :longest]
        right += float(over_tokens(decoder, rows, read.lengths[some], read.mean[some], hit, draws.precision).sum())
        first += len(some)
    decoder.train(was_training)
    return right / float(read.tokens.sum())


def table(found: Report) -> list[Row]:
    """A report as rows for a terminal, each number with its unit and rule."""
    exact = found.latent == 0
    bound = "exact" if exact else f"{found.k} draws of each sentence, seed {found.seed}"
    ends = {
        "token": "the end of a sentence is one, its beginning none",
        "word": "between white space, and one for the end",
        "byte": "of UTF-8, and one for the end",
    }
    rows = [
        _row(f"perplexity per {unit}", found.ppl(unit), f"{_count(found, unit):,} {unit}s: {rule}")
        for unit, rule in ends.items()
    ]
    rows.append(_row("log p(x)" if exact else "log p(x), bound", found.log_p_bound, f"nats per sentence, {bound}"))
    if not exact:
        rows += [
            _row(
                "-ELBO",
                found.neg_elbo,
                f"nats per sentence; perplexity {found.ppl('token', found.neg_elbo):.4g} per token",
            ),
            _row("KL", found.kl, "nats per sentence, of the posterior from the prior"),
            _row("reconstruction", found.rec, "nats per sentence, -log p(x|z) over the same draws"),
            _row(
                "mutual information",
                found.mi,
                f"nats, estimated; its ceiling is log {found.mi_sentences:,} = {found.log_n:.2f}",
            ),
            _row("KL of the mixture", found.kl_marginal, "nats, of all posteriors together from the prior"),
            _row("active units", found.active_units, f"of {found.latent}: variance of the mean above 0.01"),
        ]
    rows.append(_row("token accuracy", found.token_accuracy, "of first choices after the right tokens, from the mean"))
    rows.append({"measure": "sentences", "value": f"{found.sentences:,}", "unit": found.counts.in_words})
    return rows


def _count(found: Report, unit: str) -> int:
    return {"token": found.tokens, "word": found.words, "byte": found.bytes}[unit]


def _row(name: str, value: float, unit: str) -> Row:
    return {"measure": name, "value": f"{value:,}" if isinstance(value, int) else f"{value:.4f}", "unit": unit}


def _means(found: Bounds) -> dict[str, float]:
    """The means over sentences, of which -ELBO is the sum of two."""
    rec, kl = float(found.rec.mean()), float(found.kl.mean())
    return {"log_p_bound": float(found.log_p.mean()), "neg_elbo": rec + kl, "rec": rec, "kl": kl}
