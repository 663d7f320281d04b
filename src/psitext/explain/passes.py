"""A circuit's two passes over sentences: bond vectors from the left, covectors from the right, with their scales.

With M_t = diag(u_t) W~_H and u_t = W~_I Phi~(w_t) a chain gives f = omega_R . M_T ... M_1 omega_L. It is linear in
every u_t, so all that explains a sentence is made of a_t = W~_H h_{t-1} and g_t = M_{t+1}^T ... M_T^T omega_R:
f = sum_i g_t[i] u_t[i] a_t[i] for every t. Vectors are divided by powers of two, which costs no rounding, and the
exponents are kept: sentences of thousands of words neither overflow nor vanish.
Letters: B sentences, T words, K closings, D = chi + 1, d width of a word vector, p = d + 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.nn.numerics import binary_exponent, scaled

# Results whose size is 2^e keep e to themselves beyond it: there is room for sums and squares of what is below.
MOST_EXPONENT = 500

Scaled = tuple[Tensor, Tensor]  # values (B, ...) and exponents (B,): what is meant is values * 2^exponent


@dataclass(frozen=True, slots=True, eq=False)
class Outputs:
    """What a chain says of B sentences: the K logits are ``values * exp(log_scale)``."""

    values: Tensor  # (B, K)
    log_scale: Tensor  # (B,) 0 where the logits fit a double


@torch.no_grad()
def run(chain: Chain, words: Tensor) -> Outputs:
    """The chain's values on word vectors (B, T, d) of any T: (B, K), K = 1 where ``last`` is one vector.

    Errors: weights or word vectors that are not finite, no words, another width.
    """
    return Outputs(*settle(*outputs(chain, factors(chain, words))))


def closings(chain: Chain) -> Tensor:
    """The closing vectors as (K, D), whether ``last`` is one or several."""
    return chain.last.reshape(-1, chain.bond)


def factors(chain: Chain, words: Tensor) -> Tensor:
    """u_t = W~_I Phi~(w_t): word vectors (B, T, d) -> (B, T, D) in double. Refuses what cannot be explained."""
    checked(chain)
    return read(words, chain.physical) @ chain.inputs.mT


def read(words: Tensor, physical: int) -> Tensor:
    """Phi~ of sentences: (B, T, d) -> (B, T, p) in double. Errors: as ``with_one``; another shape, no words."""
    if words.ndim != 3 or words.shape[1] == 0:
        raise UserError(f"word vectors come as (sentences, words, width) with at least one word, not {_shape(words)}")
    return with_one(words, physical)


def with_one(vectors: Tensor, physical: int) -> Tensor:
    """Phi~ = [Phi; 1]: (..., d) -> (..., p) in double."""
    if vectors.shape[-1] != physical - 1:
        raise UserError(f"word vectors of width {vectors.shape[-1]} do not fit a circuit of width {physical - 1}")
    if not bool(vectors.isfinite().all()):
        raise UserError("a word vector holds a value that is not finite; train again from another seed")
    wide = vectors.double()
    return torch.cat([wide, torch.ones_like(wide[..., :1])], dim=-1)


def spread(baseline: Tensor, words: Tensor) -> Tensor:
    """A baseline (d,), (T, d) or (B, T, d) as one for every word (B, T, d)."""
    try:
        return baseline.expand_as(words)
    except RuntimeError:
        raise UserError(f"a baseline of shape {_shape(baseline)} does not fit words of shape {_shape(words)}") from None


def checked(chain: Chain) -> None:
    """Refuse weights that are not finite, and several circuits at once."""
    if chain.hidden.ndim != 2:
        raise UserError(f"one circuit is explained at a time, not {math.prod(chain.hidden.shape[:-2])} of them")
    for name in ("hidden", "inputs", "first", "last"):
        if not bool(getattr(chain, name).isfinite().all()):
            raise UserError(f"the circuit's {name!r} weights are not finite; its training diverged")


def prefixes(chain: Chain, u: Tensor) -> tuple[Tensor, Tensor]:
    """a_t = W~_H h_{t-1} of every word: u (N, T, D) -> (N, T, D), exponents (N, T); a_t is vector * 2^exponent."""
    vectors, exponents = torch.empty_like(u), u.new_empty(u.shape[:2])
    h, e = chain.first.expand_as(u[:, 0]), u.new_zeros(len(u))
    for t in range(u.shape[1]):
        a, shift = rescaled(h @ chain.hidden.mT)
        e = e + shift
        vectors[:, t], exponents[:, t] = a, e
        h = u[:, t] * a
    return vectors, exponents


def outputs(chain: Chain, u: Tensor) -> Scaled:
    """f of u (N, T, D): (N, K) times 2 to the (N,)."""
    a, exponents = prefixes(chain, u)
    return (u[:, -1] * a[:, -1]) @ closings(chain).T, exponents[:, -1]


def suffixes(chain: Chain, u: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """(t, g_t (N, K, D), exponents (N,)) from the last word to the first; one scale for all closings."""
    g, e = rescaled(closings(chain).expand(len(u), -1, -1), axes=(-2, -1))
    for t in reversed(range(u.shape[1])):
        yield t, g, e
        g, shift = rescaled((u[:, t, None] * g) @ chain.hidden, axes=(-2, -1))
        e = e + shift


def rescaled(x: Tensor, axes: tuple[int, ...] = (-1,)) -> tuple[Tensor, Tensor]:
    """x * 2^-e, of greatest modulus in [1/2, 1) over ``axes`` (zeros stay), and e without these axes, as doubles."""
    exponent = binary_exponent(x.abs().amax(axes, keepdim=True))
    return scaled(x, exponent), exponent.squeeze(axes)


def aligned(*parts: Scaled) -> tuple[list[Tensor], Tensor]:
    """Several values in one scale, the greatest of theirs: [(B, ...), ...] and the exponent (B,)."""
    top = torch.stack([exponent for _, exponent in parts]).amax(0)
    return [scaled(values, over(top - exponent, values)) for values, exponent in parts], top


def settle(values: Tensor, exponent: Tensor) -> tuple[Tensor, Tensor]:
    """Scaled values (B, ...) as values and log_scale (B,), which is 0 unless doubles might overflow."""
    kept = exponent.clamp(-MOST_EXPONENT, MOST_EXPONENT)
    return scaled(values, -over(kept, values)), (exponent - kept) * math.log(2)


def over(scale: Tensor, values: Tensor) -> Tensor:
    """``scale`` (B, ...) with axes of one at its end, as many as ``values`` has more."""
    return scale.reshape(*scale.shape, *(1,) * (values.ndim - scale.ndim))


def _shape(x: Tensor) -> str:
    return str(tuple(x.shape))
