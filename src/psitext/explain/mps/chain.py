"""The closed, translation-invariant matrix product state of a recurrent arithmetic circuit.

Source: NJP 24 053032, eqs. 17 to 21. Site 1 is the earliest word. With the augmented weights
W~_H = [[W_H, b_H], [0, 1]] and W~_I = [[W_I, b_I], [0, 1]], the site tensor is A^s = diag(W~_I[:, s]) W~_H and
Psi[s_1 ... s_T] = omega_R . A^{s_T} ... A^{s_1} omega_L.

Letters: ... any leading axes (restarts of one training), D = chi + 1, p = d_I + 1, B sentences, N words or chains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.numerics import binary_exponent, scaled


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """T equal sites between two boundary vectors; double precision; never altered.

    Errors: fewer than one site, or a bond or a site without dimensions.
    """

    hidden: Tensor  # (..., D, D) W~_H
    inputs: Tensor  # (..., D, p) W~_I
    first: Tensor  # (..., D) omega_L, before the earliest word
    last: Tensor  # (..., D) omega_R, after the latest word
    length: int  # T

    def __post_init__(self) -> None:
        if self.length < 1:
            raise UserError(f"a chain of T = {self.length} words holds nothing; T is 1 or more")
        if 0 in (self.bond, self.physical):
            raise UserError("a chain without hidden units or word dimensions holds nothing; both are 1 or more")

    @property
    def bond(self) -> int:
        """D, the bond dimension."""
        return self.hidden.shape[-1]

    @property
    def physical(self) -> int:
        """p, the dimension of a site: a word vector and a constant 1."""
        return self.inputs.shape[-1]

    @property
    def restarts(self) -> torch.Size:
        """The leading axes; empty of a single chain."""
        return self.hidden.shape[:-2]

    def __getitem__(self, index: Any) -> Chain:
        """Some of the restarts, by an index of the leading axes."""
        return Chain(self.hidden[index], self.inputs[index], self.first[index], self.last[index], self.length)


def close(
    hidden: Tensor, hidden_bias: Tensor, inputs: Tensor, input_bias: Tensor, length: int, last: Tensor | None = None
) -> Chain:
    """The chain of a circuit's weights (..., chi, chi), (..., chi), (..., chi, d_I), (..., chi) after h_0 = 0.

    ``last`` (..., D): None closes with all ones, as the paper does; [W_O; b_O] makes the chain the logit.
    """
    if 0 in inputs.shape[-2:]:
        raise UserError(
            f"a circuit of chi = {inputs.shape[-2]} and d_I = {inputs.shape[-1]} is none; both are 1 or more"
        )
    big_hidden, big_inputs = _augmented(hidden, hidden_bias), _augmented(inputs, input_bias)
    first = torch.zeros_like(big_hidden[..., 0])
    first[..., -1] = 1.0
    closing = torch.ones_like(first) if last is None else last.double().expand_as(first)
    return Chain(big_hidden, big_inputs, first, closing, length)


def finite(chain: Chain) -> Tensor:
    """Which restarts (...) have finite weights and boundaries; the others diverged in training."""
    matrices = chain.hidden.isfinite().all(-1) & chain.inputs.isfinite().all(-1)  # (..., D)
    return (matrices & chain.first.isfinite() & chain.last.isfinite()).all(-1)


def middle(length: int) -> int:
    """m = ceil(T / 2): the sites before the cut that the paper takes; of an odd T the early block is the longer one."""
    return math.ceil(length / 2)


def contract(chain: Chain, words: Tensor) -> tuple[Tensor, Tensor]:
    """Psi on sentences: word vectors Phi~ = (Phi, 1), (..., B, T, p) -> mantissas and log scales, both (..., B).

    The value is mantissa * exp(log_scale): 1 + sum_i h_T,i of a chain closed with ones, the logit of one closed with
    [W_O; b_O]. Restarts broadcast with the axes before B. Rescaled by powers of two at every word, which is exact, so
    any T stays finite. Errors: another number of words or dimensions than the chain has.
    """
    if words.shape[-2:] != (chain.length, chain.physical):
        raise UserError(
            f"a chain of {chain.length} words of {chain.physical} dimensions (a constant 1 the last of them) cannot "
            f"read words of shape {tuple(words.shape)}"
        )
    forward, reading = chain.hidden.mT, chain.inputs.mT
    h = chain.first[..., None, :]  # (..., 1, D), then (..., B, D)
    exponents = h.new_zeros(1)
    for word in words.double().unbind(-2):
        h = (h @ forward) * (word @ reading)
        step = binary_exponent(h.detach().abs().amax(-1))  # (..., B)
        h, exponents = scaled(h, step[..., None]), exponents + step
    return (h * chain.last[..., None, :]).sum(-1), exponents * math.log(2)


def word_root(vectors: Tensor, law: Tensor) -> Tensor:
    """A root of the metric of words: (..., p, k) with root root^T = C = E_w[Phi~(w) Phi~(w)^T], k = min(N, p).

    ``vectors`` (..., N, d_I) of a vocabulary without the constant 1; ``law`` (..., N) probabilities or counts of its
    words (pads with it, where they are read like words). By QR of the weighted vectors, so that nothing is squared.
    Errors: a law that is negative, not finite, or 0 everywhere.
    """
    if law.shape[-1:] != vectors.shape[-2:-1]:
        raise UserError(f"{vectors.shape[-2]} word vectors need as many probabilities, not {tuple(law.shape)}")
    total = law.double().sum(-1, keepdim=True)
    if not bool(((total > 0) & total.isfinite()).all()) or bool((law < 0).any()):
        raise UserError("a law of words is made of probabilities or counts: at least 0, finite, and not all 0")
    wide = torch.cat([vectors.double(), torch.ones_like(vectors[..., :1], dtype=torch.float64)], dim=-1)
    root: Tensor = torch.linalg.qr((law.double() / total).sqrt()[..., None] * wide, mode="r").R.mT
    return root


def in_metric(chain: Chain, root: Tensor) -> Chain:
    """The chain with W~_I -> W~_I ``root``, a root (..., p, k) of a metric of word vectors such as ``word_root``.

    Its Schmidt coefficients are those of the function f(w_1 ... w_T) of independent words under that law, hence the
    same for Phi -> M Phi, W_I -> W_I M^-1 with any invertible M, which changes no prediction. For spectra: such a chain
    reads no word vectors.
    """
    return Chain(chain.hidden, chain.inputs @ root.double(), chain.first, chain.last, chain.length)


def _augmented(matrix: Tensor, bias: Tensor) -> Tensor:
    """[[matrix, bias], [0, 1]] in double."""
    top = torch.cat([matrix.double(), bias.double()[..., None]], dim=-1)
    bottom = torch.zeros_like(top[..., :1, :])
    bottom[..., -1] = 1.0
    return torch.cat([top, bottom], dim=-2)
