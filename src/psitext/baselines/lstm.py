"""The LSTM that Optimus is compared with: a posterior from the last state, and a decoder that reads the latent at every
word.

Source: Bowman et al. 2016; He et al. 2019, whose protocol and initial values these are. Without a latent (P = 0) the
decoder is an LSTM language model. Letters: B sentences, R rows that are written, T tokens of a row, E features of a
word, H width, P latent numbers, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from psitext.baselines.beams import Beams
from psitext.config import Config
from psitext.heads.decoding import Decoder, LstmConfig, Writing
from psitext.nn.dropout import Dropout
from psitext.nn.numerics import autocast, float32_scores
from psitext.randomness import uniform
from psitext.state import Posterior
from psitext.text.batches import Batch

INIT, INIT_WORDS = 0.01, 0.1  # weights start uniform within these


class LstmPosteriorConfig(Config):
    """An LSTM over the words of a sentence, whose last state gives P means and P log-variances."""

    family: Literal["lstm-vae"] = "lstm-vae"
    vocab_size: int = Field(default=8_192, gt=0)  # V, of the tokens that are read
    features: int = Field(default=512, gt=0)  # E
    hidden: int = Field(default=1_024, gt=0)  # H
    latent: int = Field(default=32, gt=0)  # P
    max_len: int = Field(default=128, gt=1)  # tokens of the longest sentence

    @property
    def pool(self) -> Literal["cls"]:
        """One state stands for the sentence."""
        return "cls"

    @property
    def width(self) -> int:
        """Numbers in a state: the latent's."""
        return self.latent

    real_width = width

    @property
    def in_words(self) -> str:
        """What it is, for a reader."""
        return f"a posterior of {self.latent} numbers over an LSTM of width {self.hidden}"


class LstmPosterior(nn.Module):
    """Rows of tokens -> Posterior with ``vector`` and ``log_var`` (B, P), float32."""

    def __init__(self, config: LstmPosteriorConfig) -> None:
        super().__init__()
        self.config = config
        self.token = nn.Embedding(config.vocab_size, config.features)
        self.net = nn.LSTM(config.features, config.hidden, batch_first=True)
        self.posterior = nn.Linear(config.hidden, 2 * config.latent, bias=False)
        _start(self)

    def forward(self, batch: Batch) -> Posterior:
        """Run over every sentence to its own end; what is behind it is never read."""
        with autocast(batch.ids.device, "fp32"):
            words = self.token(batch.sequences(batch.ids)[0])  # (B, L, E)
            packed = pack_padded_sequence(words, batch.lengths.cpu(), batch_first=True, enforce_sorted=False)
            last = self.net(packed)[1][0][0]  # (B, H)
            mean, log_var = float32_scores(self.posterior(last)).chunk(2, dim=-1)
        return Posterior(mean, log_var)


@dataclass(frozen=True, slots=True)
class Memory:
    """What R rows carry from token to token: the LSTM's two states (1, R, H), and their latents (R, P)."""

    hidden: Tensor
    cell: Tensor
    latent: Tensor

    def __getitem__(self, rows: Tensor) -> Memory:
        return Memory(self.hidden[:, rows], self.cell[:, rows], self.latent[rows])


class LstmDecoder(Decoder):
    """p(x | z) by an LSTM: z is beside the features of every word, and a linear map of it is the first cell state,
    whose tanh is the first hidden state.

    Dropout falls on words read and on states, none on the latent; the output matrix is its own. Padding stands on the
    right, where nothing that counts can see it.
    """

    def __init__(self, config: LstmConfig) -> None:
        super().__init__()
        self.config: LstmConfig = config
        self.token = nn.Embedding(config.vocab_size, config.features)
        self.net = nn.LSTM(config.features + config.latent, config.width, batch_first=True)
        self.first = nn.Linear(config.latent, config.width, bias=False) if config.latent else None
        self.output = nn.Linear(config.width, config.vocab_size, bias=False)
        self.dropout = Dropout(config.dropout)
        _start(self)

    def states(self, ids: Tensor, latent: Tensor) -> Tensor:
        """(B, T) tokens, (B, P) latents -> (B, T, H); float32 products."""
        with autocast(ids.device, "fp32"):
            first = self._first(latent)
            states: Tensor = self.dropout(self.net(self._inputs(ids, first.latent), (first.hidden, first.cell))[0])
        return states

    def logits(self, states: Tensor) -> Tensor:
        """(..., H) -> (..., V)."""
        scores: Tensor = self.output(states)
        return scores

    @torch.no_grad()
    def write(self, latent: Tensor, how: Writing, prompt: Tensor | None = None) -> Tensor:
        """(B * samples, L) tokens, see ``Decoder.write``; one step of the LSTM a token, for all rows at once.

        Greedy, by the beams of ``baselines.beams``, or drawn from the distribution that temperature, then ``top_k``,
        then ``top_p`` leave, by numbers that are keyed by (seed, row, token). ``bos`` and ``pad`` are never written.
        The prompt has no ``bos`` of its own. Errors: as ``Decoder.write``.
        """
        how.check()
        if not len(latent):  # torch packs no sequence of nothing
            return torch.empty(0, 1, dtype=torch.int64, device=latent.device)
        was_training = self.training
        self.eval()
        try:
            logits, memory = self._begin(latent, prompt)
            if how.beams > 1:
                return self._search(logits, memory, how)
            if how.sample:
                rows = torch.arange(len(latent), device=latent.device).repeat_interleave(how.samples)
                logits, memory = logits[rows], memory[rows]
            return self._walk(logits, memory, how)
        finally:
            self.train(was_training)

    def _first(self, latent: Tensor) -> Memory:
        latent = latent.to(self.token.weight.dtype)
        cell = latent.new_zeros(len(latent), self.config.width) if self.first is None else self.first(latent)
        return Memory(cell.tanh()[None], cell[None], latent)

    def _inputs(self, ids: Tensor, latent: Tensor) -> Tensor:
        """(R, T) tokens -> (R, T, E + P)."""
        words = self.dropout(self.token(ids))
        return torch.cat([words, latent[:, None].expand(-1, words.shape[1], -1)], dim=-1)

    def _begin(self, latent: Tensor, prompt: Tensor | None) -> tuple[Tensor, Memory]:
        """Read ``bos`` and the prompt without its padding; (R, V) scores of what comes next."""
        config = self.config
        rows = torch.full((len(latent), 1), config.bos, device=latent.device)
        lengths = torch.ones(len(latent), dtype=torch.int64, device=latent.device)
        if prompt is not None:
            there = (prompt != config.pad).cumsum(1) > 0  # padding in front alone
            order = torch.argsort((~there).int(), dim=1, stable=True)  # what is there, in its order, then the padding
            rows = torch.cat([rows, prompt.gather(1, order)], dim=1)
            lengths = lengths + there.sum(1)
        with autocast(rows.device, "fp32"):
            first = self._first(latent)
            words = self._inputs(rows, first.latent)
            packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
            hidden, cell = self.net(packed, (first.hidden, first.cell))[1]
        return self.allowed(hidden[0]), Memory(hidden, cell, first.latent)

    def _step(self, tokens: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """(R,) tokens -> (R, V) scores of the next ones."""
        with autocast(tokens.device, "fp32"):
            words = self._inputs(tokens[:, None], memory.latent)
            hidden, cell = self.net(words, (memory.hidden.contiguous(), memory.cell.contiguous()))[1]
        return self.allowed(hidden[0]), Memory(hidden, cell, memory.latent)

    def _walk(self, logits: Tensor, memory: Memory, how: Writing) -> Tensor:
        """Token by token, greedy or drawn."""
        draws = _uniform(len(logits), how).to(logits.device) if how.sample else None  # (R, max_len)
        done = torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
        written: list[Tensor] = []
        while True:
            best = logits.argmax(-1) if draws is None else picked(logits, draws[:, len(written)], how)
            written.append(torch.where(done, self.config.pad, best))
            done = done | (written[-1] == self.config.eos)
            if len(written) == how.max_len or bool(done.all()):
                return torch.stack(written, dim=1)
            logits, memory = self._step(written[-1], memory)

    def _search(self, logits: Tensor, memory: Memory, how: Writing) -> Tensor:
        """The best ``samples`` of ``beams`` for every latent."""
        beams = Beams(len(logits), how, eos=self.config.eos, pad=self.config.pad, device=logits.device)
        every = torch.arange(len(logits), device=logits.device).repeat_interleave(how.beams)
        logits, memory = logits[every], memory[every]
        while True:
            rows, tokens = beams.extend(logits.log_softmax(-1))
            if beams.done:
                return beams.best(how.samples)
            logits, memory = self._step(tokens, memory[rows])


def picked(logits: Tensor, draws: Tensor, how: Writing) -> Tensor:
    """(R,) tokens, from (R, V) scores and (R,) uniform numbers, by the inverse of the distribution function.

    ``top_k`` keeps the best k (and what ties with the last), ``top_p`` the fewest best whose probabilities reach p.
    """
    # Below the best score: over a temperature near 0, scores themselves would all be infinite.
    scores = (logits.double() - logits.amax(-1, keepdim=True)) / how.temperature
    if 0 < how.top_k < scores.shape[-1]:
        scores = scores.masked_fill(scores < scores.topk(how.top_k).values[:, -1:], -torch.inf)
    probs = scores.softmax(-1)
    if how.top_p < 1:
        ordered, order = probs.sort(dim=-1, descending=True, stable=True)
        dropped = ordered.cumsum(-1) - ordered >= how.top_p  # what stands before it is enough
        probs = probs.masked_fill(torch.zeros_like(dropped).scatter(1, order, dropped), 0)
    reached = probs.cumsum(-1)
    found = torch.searchsorted(reached, draws[:, None] * reached[:, -1:], right=True)[:, 0]
    return found.clamp_max(logits.shape[-1] - 1)


def _uniform(rows: int, how: Writing) -> Tensor:
    """(rows, max_len) numbers in [0, 1), double: a row's do not depend on how many rows there are."""
    return torch.from_numpy(uniform(how.seed, "write", np.arange(rows)[:, None], np.arange(how.max_len)))


def _start(module: nn.Module) -> None:
    """Initial values of He et al. 2019."""
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -INIT, INIT)
    for part in module.modules():
        if isinstance(part, nn.Embedding):
            nn.init.uniform_(part.weight, -INIT_WORDS, INIT_WORDS)
