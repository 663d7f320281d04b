"""Square roots of a chain's Grams, in the metric of the paper or of the data.

A metric is C = E[Phi~ Phi~^T] (p, p), of the law from which every word is drawn by itself, given by a root of it
(``chain.word_root``). The tensor of sites A^s root has norms and inner products that are mean squares and covariances
of f over sentences; C = 1 is the paper's metric, of the tensor itself. Roots X_m and Y_m (D, c), E_m = X_m X_m^T and
F_m = Y_m Y_m^T, come by QR, so that small singular values are right to rounding of the largest, which Grams would
give to its square root only. Letters as in ``passes``; k columns of a metric's root.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.passes import checked, closings, rescaled

Root = tuple[Tensor, float]  # (D, c) and the exponent of a power of two


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One site in a metric: its input weights for words of unit second moment; r = min(p, k, D)."""

    inputs: Tensor  # (D, r) W~_I root, up to a rotation of its columns
    whiten: Tensor  # (r, p) turns Phi~ into what ``inputs`` are to be multiplied with


Metric = Tensor | Sequence[Tensor] | None  # a root (p, k) of C, or T of them; None: the paper's, C = 1


def frames(chain: Chain, metric: Metric = None) -> list[Frame]:
    """The T sites in a metric, or in one for each where laws differ between places, as with padding.

    Where C has no full rank, nothing is kept of word vectors that the law never draws. Errors: as ``roots_of``.
    """
    sites = roots_of(chain, metric)
    made = {id(root): _frame(chain, root) for root in {id(root): root for root in sites}.values()}
    return [made[id(root)] for root in sites]


def roots_of(chain: Chain, metric: Metric) -> list[Tensor]:
    """T roots (p, k). Errors: as ``passes.checked``; roots of another shape or number, or not finite."""
    checked(chain)
    if metric is None:
        metric = torch.eye(chain.physical).to(chain.inputs)
    roots = [metric.double()] * chain.length if isinstance(metric, Tensor) and metric.ndim == 2 else list(metric)
    if len(roots) != chain.length:
        raise UserError(f"a chain of {chain.length} words needs one metric or {chain.length}, not {len(roots)}")
    for root in roots:
        if root.ndim != 2 or len(root) != chain.physical or not bool(root.isfinite().all()):
            raise UserError(f"a metric's root has {chain.physical} rows of finite numbers; this is {tuple(root.shape)}")
    return roots


def _frame(chain: Chain, root: Tensor) -> Frame:
    # inputs root = R^T Q^T, and the rotation Q^T goes to the words: at most D directions of theirs reach the bond.
    q, r = torch.linalg.qr((chain.inputs @ root).mT)
    return Frame(r.mT, q.mT @ torch.linalg.pinv(root))


def early(chain: Chain, sites: list[Frame]) -> list[Root]:
    """X_0 ... X_T of the chain's first T sites: X_m of the sites 1 to m."""
    roots = [_scaled(chain.first[:, None], 0.0)]
    for site in sites:
        x, exponent = roots[-1]
        roots.append(_scaled(shrunk(_each(site.inputs, chain.hidden @ x)), exponent))
    return roots


def late(chain: Chain, sites: list[Frame]) -> list[Root]:
    """Y_0 ... Y_T of the chain's last T sites: Y_m of the sites m + 1 to T."""
    roots = [_scaled(closings(chain).mT, 0.0)]
    for site in reversed(sites):
        y, exponent = roots[-1]
        roots.append(_scaled(shrunk(chain.hidden.mT @ _each(site.inputs, y)), exponent))
    return roots[::-1]


def shrunk(wide: Tensor) -> Tensor:
    """(D, n) -> (D, min(D, n)) with the same product with its own transpose."""
    small: Tensor = torch.linalg.qr(wide.mT, mode="r")[1].mT
    return small


def numerical_rank(schmidt: Tensor, floor: float | None = None) -> int:
    """How many of descending singular values (n,) are more than ``floor`` times the first; None: than its rounding.

    Errors: all are 0.
    """
    if float(schmidt[0]) == 0:
        raise UserError("this chain is 0 for every sentence; it has no channels")
    least = len(schmidt) * torch.finfo(schmidt.dtype).eps if floor is None else floor
    return int((schmidt > least * schmidt[0]).sum())


def _each(inputs: Tensor, columns: Tensor) -> Tensor:
    """diag(v) columns, side by side for every column v of the inputs: (D, r), (D, c) -> (D, r c)."""
    return (inputs[:, :, None] * columns[:, None]).flatten(1)


def _scaled(root: Tensor, exponent: float) -> Root:
    root, shift = rescaled(root, (-2, -1))
    return root, exponent + float(shift)
