"""How a causal decoder writes: token by token over a cache of what was read, greedily, by draws or by beams.

transformers' ``generate`` carries every row to the end of the longest one, with sentences of 6 tokens on average and up
to 40 four times the work; this loop goes on without rows that have ended. Its beams and draws are those of the LSTM.

Letters: B latents, R rows that are written, S tokens that are read first, N tokens written, V vocabulary.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from psitext.baselines.beams import Beams
from psitext.baselines.lstm import picked
from psitext.errors import UserError
from psitext.heads.decoding import CausalConfig, Writing
from psitext.hf.decoders.injection import causal
from psitext.randomness import uniform

if TYPE_CHECKING:
    from psitext.hf.decoders.causal import CausalDecoder


def write(decoder: CausalDecoder, latent: Tensor, how: Writing, prompt: Tensor | None) -> Tensor:
    """(B * samples, N) int64 tokens, see ``CausalDecoder.write``; the decoder is in evaluation mode."""
    how.check()
    ids, real = beginning(decoder.config, latent, prompt)
    room = decoder.config.max_len - decoder.first_position - ids.shape[1] + 1
    if room < 1:
        raise UserError(
            f"a prompt of {ids.shape[1] - 1} tokens leaves no room to write in a decoder of {decoder.config.max_len} "
            "positions; give a shorter one"
        )
    steps = min(how.max_len, room)
    if not len(latent):  # their models do not know what shape nothing has
        return ids.new_empty(0, 1)
    reading = Reading(decoder, latent)
    logits = reading.first(ids, real)
    if how.beams > 1:
        return _search(reading, logits, how, steps)
    if how.samples > 1:
        rows = torch.arange(len(latent), device=latent.device).repeat_interleave(how.samples)
        logits = logits[rows]
        reading.keep(rows)
    return _walk(reading, logits, how, steps)


def beginning(config: CausalConfig, latent: Tensor, prompt: Tensor | None) -> tuple[Tensor, Tensor]:
    """(B, S) tokens to read before writing, padding on the left and then ``bos`` and the prompt, and (B, S) bool, True
    where there is no padding.
    """
    if prompt is None:
        prompt = torch.empty(len(latent), 0, dtype=torch.long, device=latent.device)
    there = (prompt != config.pad).cumsum(-1) > 0  # padding in front alone
    lengths = there.sum(1) + 1
    ids = torch.cat([prompt.new_full((len(latent), 1), config.pad), prompt], dim=1)
    place = torch.arange(ids.shape[1], device=ids.device) - ids.shape[1] + lengths[:, None]  # bos stands at 0
    ids = ids.where(place != 0, config.bos)
    used = int(lengths.max()) if len(lengths) else 1
    return ids[:, -used:], place[:, -used:] >= 0


class Reading:
    """What R rows have read so far: keys and values of all layers, and what their latents bring."""

    def __init__(self, decoder: CausalDecoder, latent: Tensor) -> None:
        from transformers import DynamicCache

        self.decoder = decoder
        self._memory, self._added = decoder.injected(latent)
        self._cache: Any = DynamicCache()
        self._real: Tensor | None = None  # (R, S) bool, where there is padding
        self._position = torch.empty(0)  # (R, 1) of the token read last

    def first(self, ids: Tensor, real: Tensor) -> Tensor:
        """(R, S) tokens with padding on the left -> (R, V) scores of what comes next."""
        positions = (real.cumsum(-1) - 1).clamp_min(0) + self.decoder.first_position
        mask = causal(ids.shape[1], ids.shape[1], ids.device)
        if not bool(real.all()):
            self._real = real
            # Padding sees itself: an empty row of a softmax is not a number.
            itself = torch.eye(ids.shape[1], dtype=torch.bool, device=ids.device)
            mask = itself | (real[:, None, None] if mask is None else mask & real[:, None, None])
        self._position = positions[:, -1:]
        return self._read(ids, positions, mask)

    def next(self, tokens: Tensor) -> Tensor:
        """(R,) tokens -> (R, V) scores of the next ones."""
        self._position = self._position + 1
        if self._real is not None:
            self._real = torch.cat([self._real, self._real.new_ones(len(tokens), 1)], dim=1)
        mask = None if self._real is None else self._real[:, None, None]
        return self._read(tokens[:, None], self._position, mask)

    def keep(self, rows: Tensor) -> None:
        """Go on with these rows, (R',) numbers in any order, repetitions allowed."""
        self._cache.reorder_cache(rows)
        self._position = self._position[rows]
        self._memory, self._added, self._real = (
            None if part is None else part[rows] for part in (self._memory, self._added, self._real)
        )

    def _read(self, ids: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        kept = {"use_cache": True, _cache_keyword(): self._cache}
        states = self.decoder.run(ids, positions, mask, self._memory, self._added, **kept)
        return self.decoder.allowed(states[:, -1])


def _walk(reading: Reading, logits: Tensor, how: Writing, steps: int) -> Tensor:
    """Token by token, greedy or drawn. When half of the rows have ended, the others go on alone."""
    config = reading.decoder.config
    written = torch.full((len(logits), steps), config.pad, dtype=torch.long, device=logits.device)
    rows = torch.arange(len(logits), device=logits.device)  # that go on
    open_ = torch.ones_like(rows, dtype=torch.bool)  # of these, the ones that have not ended
    for step in range(steps):
        tokens = picked(logits, _draws(how, rows, step), how) if how.sample else logits.argmax(-1)
        tokens = tokens.where(open_, config.pad)
        written[rows, step] = tokens
        open_ = open_ & (tokens != config.eos)
        count = int(open_.sum())
        if count == 0 or step == steps - 1:
            return written[:, : step + 1]
        if count <= len(rows) // 2:
            at = open_.nonzero()[:, 0]
            reading.keep(at)
            rows, open_, tokens = rows[at], open_[at], tokens[at]
        logits = reading.next(tokens)
    raise ValueError("rows of no token cannot be written")


def _search(reading: Reading, logits: Tensor, how: Writing, steps: int) -> Tensor:
    """The best ``samples`` of ``beams`` for every latent."""
    config = reading.decoder.config
    within = Writing(max_len=steps, beams=how.beams)
    beams = Beams(len(logits), within, eos=config.eos, pad=config.pad, device=logits.device)
    every = torch.arange(len(logits), device=logits.device).repeat_interleave(how.beams)
    logits = logits[every]
    reading.keep(every)
    while True:
        rows, tokens = beams.extend(logits.log_softmax(-1))
        if beams.done:
            return beams.best(how.samples)
        reading.keep(rows)
        logits = reading.next(tokens)


def _draws(how: Writing, rows: Tensor, step: int) -> Tensor:
    """(R,) uniform numbers for a token of each row, double: the same whatever other rows there are."""
    numbers = uniform(how.seed, "write", rows.cpu().numpy().astype(np.uint64), step)
    return torch.from_numpy(numbers).to(rows.device)


@cache
def _cache_keyword() -> str:
    """What transformers calls the cache: ``cache`` today, ``past_key_values`` in its first versions 5."""
    from transformers import GPT2Model

    return "cache" if "cache" in inspect.signature(GPT2Model.forward).parameters else "past_key_values"
