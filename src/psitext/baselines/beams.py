"""Beam search over scores that somebody else computes: which beams go on, which have ended, and when that is enough.

Length: a sentence that has ended is judged by its mean log-probability a token, the end included, so that a long one is
not worse for being long; beams that go on are compared at one length. Letters: B sentences, K beams, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor

from psitext.heads.decoding import Writing


class Beams:
    """K beams for each of B sentences; ``extend`` until ``done``, then take the ``best``.

    A sentence is done at ``max_len`` tokens, or when K of its beams have ended and none that goes on is better now, by
    the mean, than the worst of them. What a sentence becomes depends on no other of the batch.
    """

    def __init__(self, sentences: int, how: Writing, *, eos: int, pad: int, device: torch.device) -> None:
        shape = (sentences, how.beams)
        self._how, self._eos = how, eos
        self._live = torch.full(shape, -torch.inf, device=device)  # (B, K) sums of log-probabilities
        self._live[:, 0] = 0.0  # one beam at first: K equal ones would stay equal
        self._ended = torch.full(shape, -torch.inf, device=device)  # (B, K) means, descending
        self._ended_length = torch.zeros(shape, dtype=torch.int64, device=device)
        self._open = torch.ones(sentences, dtype=torch.bool, device=device)
        self._live_tokens, self._ended_tokens = (
            torch.full((*shape, how.max_len), pad, dtype=torch.int64, device=device) for _ in range(2)
        )
        self._length = 0

    @property
    def done(self) -> bool:
        """True when no sentence goes on."""
        return not bool(self._open.any())

    def extend(self, log_probs: Tensor) -> tuple[Tensor, Tensor]:
        """One token more: (B * K, V) log-probabilities of the next ones, float32 -> the flat beam (B * K,) that each
        new beam goes on from, and its token (B * K,).
        """
        sentences, beams = self._live.shape
        words = log_probs.shape[-1]
        sums = (self._live[:, :, None] + log_probs.view(sentences, beams, words)).flatten(1)
        # Each beam ends in one way, so that of the best 2 K at least K go on (a vocabulary of one word has no choice).
        values, at = sums.topk(min(2 * beams, sums.shape[1]))
        origin, token = at // words, at % words
        self._length += 1
        tokens = self._live_tokens.gather(1, _wide(origin, self._live_tokens))
        tokens[:, :, self._length - 1] = token
        ends = token == self._eos
        among_best = torch.arange(values.shape[1], device=values.device) < beams
        last = self._length == self._how.max_len
        self._end(torch.where(among_best & (ends | last), values, -torch.inf), tokens)
        self._live, chosen = torch.where(ends, -torch.inf, values).topk(beams)
        self._live_tokens = tokens.gather(1, _wide(chosen, tokens))
        self._open = self._open & (self._ended[:, -1] < self._live[:, 0] / self._length) & (not last)
        first = torch.arange(sentences, device=values.device)[:, None] * beams
        return (first + origin.gather(1, chosen)).flatten(), token.gather(1, chosen).flatten()

    def best(self, samples: int) -> Tensor:
        """(B * samples, L) the best of every sentence that ended, best first, as long as the longest."""
        longest = int(self._ended_length[:, :samples].max())
        return self._ended_tokens[:, :samples].flatten(0, 1)[:, :longest]

    def _end(self, values: Tensor, tokens: Tensor) -> None:
        """Keep the K best of what had ended and what ends now, in sentences that are still open."""
        means = torch.where(self._open[:, None], values / self._length, -torch.inf)
        merged = torch.cat([self._ended, means], dim=1)
        self._ended, chosen = merged.topk(self._ended.shape[1])
        both = torch.cat([self._ended_tokens, tokens], dim=1)
        self._ended_tokens = both.gather(1, _wide(chosen, both))
        lengths = torch.cat([self._ended_length, torch.full_like(values, self._length, dtype=torch.int64)], dim=1)
        self._ended_length = lengths.gather(1, chosen)


def _wide(rows: Tensor, tokens: Tensor) -> Tensor:
    """(B, k) numbers of rows as an index into (B, K, L) tokens."""
    return rows[:, :, None].expand(-1, -1, tokens.shape[2])
