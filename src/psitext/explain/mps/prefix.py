"""Entanglement of what is still to come, once some words were read; and which memory channels a sentence uses.

The paper's entropy belongs to the circuit, whatever the sentence. After the words w_1 ... w_k the same sites go on
from omega_L <- h~_k: their state's entropies at the later bonds are the sentence's own (conditioning on a prefix, as
MPSTime does for time series). A bond's Schmidt decomposition f = sum_i lambda_i l_i(early) r_i(late) has D channels:
lambda_i l_i(w_1 ... w_m) says how much of channel i a sentence has filled by then, and times r_i(w_{m+1} ... w_T)
what it adds to f in the end. Letters as in ``passes``; m counts the sites before a bond.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.compress.frames import Metric, early, frames, late, numerical_rank
from psitext.explain.passes import factors, prefixes, rescaled, settle, suffixes


@dataclass(frozen=True, slots=True, eq=False)
class Channels:
    """B sentences in the Schmidt basis of one bond: ``filled * rest``, summed over channels, is f.

    In a metric of the data the mean squares of ``filled`` over its law are ``schmidt`` squared, those of ``rest`` all
    that of f. Either is to be times the exponential of its scale, which is 0 where it fits a double.
    """

    schmidt: Tensor  # (c,) descending, of unit norm: of the circuit, whatever the sentence
    filled: Tensor  # (B, c) lambda_i l_i(first m words)
    rest: Tensor  # (B, K, c) ||f|| r_i(words after them)
    filled_log_scale: Tensor  # (B,)
    rest_log_scale: Tensor  # (B,)


@torch.no_grad()
def prefix_map(chain: Chain, words: Tensor, metric: Metric = None) -> Tensor:
    """Entropies in bits (B, T - 1, T - 1): row k after k words of the sentence, column m - 1 at bond m > k; else NaN.

    Row 0 is the circuit's own profile. T is the length of the words (B, T, d), whatever the chain's. A state that is
    0 has no entropy: NaN. ``metric`` as in ``compress.frames``. Time T^2 D^3 a sentence; memory of T D^2.
    Errors: as ``passes.factors`` and ``frames``; a sentence of one word, which has no bond.
    """
    u = factors(chain, words)
    batch, length, bond = u.shape
    if length < 2:
        raise UserError("a sentence of one word has no bond between two words")
    chain = replace(chain, length=length)
    sites = frames(chain, metric)
    roots = late(chain, sites)
    a, _ = prefixes(chain, u)
    seen = torch.cat([chain.first.expand(batch, 1, bond), u * a], dim=1)[:, :-1]  # h_k up to a factor
    bits = u.new_full((batch, length - 1, length - 1), torch.nan)
    grams = u.new_zeros(batch, 0, bond, bond)
    for m, site in enumerate(sites[:-1], start=1):
        h, _ = rescaled(seen[:, m - 1])
        grams = torch.cat([grams, (h[:, :, None] * h[:, None])[:, None]], dim=1)  # (B, m, D, D), of k = 0 ... m - 1
        grams, _ = rescaled((chain.hidden @ grams @ chain.hidden.mT) * (site.inputs @ site.inputs.mT), axes=(-2, -1))
        bits[:, :m, m - 1] = _entropy_bits(roots[m][0].mT @ grams @ roots[m][0])
    return bits


@torch.no_grad()
def channels(chain: Chain, words: Tensor, bond: int, metric: Metric = None) -> Channels:
    """What sentences (B, T, d) have in the Schmidt channels of bond m, 1 to T - 1; of rank c <= D.

    Signs are those that make the sum of a channel's column positive; T is the words', whatever the chain's length.
    In a metric of the data l_i and r_i are orthonormal functions of sentences of that law.
    Errors: as ``prefix_map``; a bond outside 1..T - 1.
    """
    u = factors(chain, words)
    if not 1 <= bond < u.shape[1]:
        raise UserError(f"bond {bond} lies outside 1..{u.shape[1] - 1}, the bonds of a sentence of {u.shape[1]} words")
    chain = replace(chain, length=u.shape[1])
    sites = frames(chain, metric)
    (x, exponent), (y, _) = early(chain, sites[:bond])[-1], late(chain, sites[bond:])[0]
    left, schmidt, right = torch.linalg.svd(x.mT @ y, full_matrices=False)
    rank, norm = numerical_rank(schmidt), schmidt.norm()
    # l_i(h) = h . X^-T u_i and r_i(g) = g . Y^-T v_i; by X^T Y = U S V^T neither root is inverted.
    to_filled, to_rest = y @ right[:rank].mT / norm, x @ (left[:, :rank] * (norm / schmidt[:rank]))
    signs = torch.where(to_filled.sum(0) < 0, -1.0, 1.0)
    a, scales = prefixes(chain, u[:, :bond])
    *_, (_, g, scale) = suffixes(chain, u[:, bond - 1 :])
    filled = settle((u[:, bond - 1] * a[:, -1]) @ (to_filled * signs), scales[:, -1] - exponent)
    rest = settle(g @ (to_rest * signs), scale + exponent)
    return Channels(schmidt[:rank] / norm, filled[0], rest[0], filled[1], rest[1])


def _entropy_bits(gram: Tensor) -> Tensor:
    """Positive semi-definite (..., n, n) with eigenvalues in proportion to squared Schmidt coefficients -> (...)."""
    weights = torch.linalg.eigvalsh(gram).clamp_min(0)
    shares = weights / weights.sum(-1, keepdim=True)
    bits: Tensor = torch.special.entr(shares).sum(-1) / math.log(2)
    return bits
