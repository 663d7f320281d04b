"""What another word in one place would change: f is linear in each word vector, all the others held.

df/dPhi~_t, the environment of word t, is W~_I^T (g_t * a_t): one pass from each side gives it for all t, and its
product with all word vectors the logits after any single substitution. Letters as in ``passes``; N words of a
vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.passes import aligned, factors, outputs, over, prefixes, settle, spread, suffixes, with_one

CHUNK = 2**23  # logits held at once (64 MB): places are taken in groups of so many


@dataclass(frozen=True, slots=True, eq=False)
class Environments:
    """Covectors of every word: logits are ``vectors[b, :, t] @ [Phi_t; 1]``, whatever word is put at t. All are to
    be times exp(log_scale).
    """

    vectors: Tensor  # (B, K, T, p)
    logits: Tensor  # (B, K) of the sentences as they are
    log_scale: Tensor  # (B,) 0 where all fit a double


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """By how much the logits move when one word is replaced; to be times exp(log_scale)."""

    values: Tensor  # (B, K, T) by the baseline, or (B, K, T, N) by every word of a vocabulary
    log_scale: Tensor  # (B,)


@dataclass(frozen=True, slots=True, eq=False)
class Flips:
    """The single substitutions that turn the decision most decidedly, best first; -1 and NaN where there are fewer."""

    position: Tensor  # (B, top) of the word replaced, from 0
    word: Tensor  # (B, top) the row of the vocabulary put there
    logits: Tensor  # (B, top, K) afterwards, to be times exp(log_scale)
    log_scale: Tensor  # (B,)


@torch.no_grad()
def environments(chain: Chain, words: Tensor) -> Environments:
    """Environments of words (B, T, d); T is the sentences' own, whatever the chain's length. Time T D^2 a sentence.

    Errors: as ``passes.factors``.
    """
    u = factors(chain, words)
    a, scales = prefixes(chain, u)
    parts = [((g * a[:, t, None]) @ chain.inputs, scale + scales[:, t]) for t, g, scale in suffixes(chain, u)]
    (logits, *vectors), top = aligned(outputs(chain, u), *parts[::-1])
    joined = torch.cat([torch.stack(vectors, dim=2).flatten(2), logits[..., None]], dim=-1)
    settled, log_scale = settle(joined, top)
    return Environments(settled[..., :-1].unflatten(2, (u.shape[1], -1)), settled[..., -1], log_scale)


@torch.no_grad()
def leave_one_out(chain: Chain, words: Tensor, baseline: Tensor) -> Changes:
    """f with the baseline in a word's place, less f as it is: (B, K, T). The baseline broadcasts to words (B, T, d)."""
    around = environments(chain, words)
    step = with_one(spread(baseline, words), chain.physical) - with_one(words, chain.physical)
    return Changes(torch.einsum("bktp,btp->bkt", around.vectors, step), around.log_scale)


@torch.no_grad()
def substitutions(chain: Chain, words: Tensor, vocabulary: Tensor) -> Changes:
    """f with any word of the vocabulary (N, d) in a word's place, less f as it is: (B, K, T, N).

    For a whole vocabulary and long sentences ``flips`` holds less at once. Errors: as ``passes.factors``; no words.
    """
    around = environments(chain, words)
    logits = around.vectors @ _choices(vocabulary, chain).mT
    now = torch.einsum("bktp,btp->bkt", around.vectors, with_one(words, chain.physical))
    return Changes(logits - now[..., None], around.log_scale)


@torch.no_grad()
def flips(chain: Chain, words: Tensor, vocabulary: Tensor, top: int = 5, allowed: Tensor | None = None) -> Flips:
    """Which single words turn the decision: for each sentence the ``top`` substitutions of greatest new margin.

    One logit decides by its sign, and its margin is its size on the other side; of several the greatest decides, and
    the margin is that of the best other class over the class decided now. ``allowed`` (N,) is False for words that
    may not be put in. Time T D^2 + K T p N a sentence. Errors: as ``substitutions``; ``top`` below 1.
    """
    if top < 1:
        raise UserError(f"the number of substitutions to show is at least 1, not {top}")
    around, choices = environments(chain, words), _choices(vocabulary, chain)
    count, (batch, _, length, _) = len(choices), around.vectors.shape
    margins, indices = choices.new_full((batch, top), -torch.inf), torch.full((batch, top), -1, device=choices.device)
    each = max(CHUNK // (around.logits.numel() * count), 1)
    for start in range(0, length, each):
        after = around.vectors[:, :, start : start + each] @ choices.T  # (B, K, some T, N)
        found = _margins(after, around.logits)
        if allowed is not None:
            found = found.masked_fill(~allowed.bool(), -torch.inf)
        new, at = found.flatten(1).topk(min(top, found[0].numel()))
        margins, order = torch.cat([margins, new], dim=1).topk(top)
        indices = torch.cat([indices, at + start * count], dim=1).gather(1, order)
    position, word = indices // count, indices % count
    rows = torch.arange(batch, device=indices.device)[:, None]
    logits = torch.einsum("bjkp,bjp->bjk", around.vectors.transpose(1, 2)[rows, position], choices[word])
    none = margins <= 0
    return Flips(
        position.masked_fill(none, -1),
        word.masked_fill(none, -1),
        logits.masked_fill(none[..., None], torch.nan),
        around.log_scale,
    )


def _margins(after: Tensor, now: Tensor) -> Tensor:
    """(B, ...) by how much logits (B, K, ...) decide otherwise than logits (B, K); negative where they do not."""
    if now.shape[1] == 1:
        return torch.where(over(now[:, 0] > 0, after[:, 0]), -after[:, 0], after[:, 0])
    decided = over(torch.nn.functional.one_hot(now.argmax(1), now.shape[1]).bool(), after)
    others = after.masked_fill(decided, -torch.inf).amax(1)
    return others - after.masked_fill(~decided, -torch.inf).amax(1)


def _choices(vocabulary: Tensor, chain: Chain) -> Tensor:
    """Word vectors (N, d) -> (N, p)."""
    if not len(vocabulary):
        raise UserError("the vocabulary is empty; there is no word to put in")
    return with_one(vocabulary, chain.physical)
