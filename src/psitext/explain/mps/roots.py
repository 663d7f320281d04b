"""Both sides of a cut as square roots of Gram matrices: every Schmidt coefficient to rounding, zeros exact.

E_m = X_m X_m^T and F_m = Y_m Y_m^T, and QR makes the factors of the next site without ever squaring anything:

    X_m = R^T of the rows (W~_H X_{m-1})[d, r] W~_I[d, s] over (s, r)      lambda = svd(X_m^T Y_m)
    Y_m = W~_H^T R^T, R of the rows Y_{m+1}[d, r] W~_I[d, s] over (s, r)

X_m has min(p^m, D) columns, so there are no more coefficients than the rank allows. Householder's QR is stable column
by column, here hidden unit by hidden unit, whatever their scales. A site costs about 4 p D^3. All arrays are double;
the functions are those of ``gram.py``; N chains, r columns.
"""

from __future__ import annotations

import numpy as np

from psitext.explain.mps.gram import LEAST_EXPONENT
from psitext.explain.mps.stack import Floats

POWER = 1


def kernel(inputs: Floats) -> Floats:
    """W~_I (N, D, p) with at most D columns: a factor of K = W~_I W~_I^T."""
    return _root(inputs) if inputs.shape[-1] > inputs.shape[-2] else inputs


def start(vector: Floats) -> Floats:
    """A boundary (N, D) as one column (N, D, 1)."""
    return vector[..., None]


def early(hidden: Floats, root: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """X_{m-1} -> X_m over the power of two above its largest entry, and that power's exponent (N,)."""
    return _rescaled(_compressed(hidden @ root, factor))


def late(hidden: Floats, root: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Y_{m+1} -> Y_m over the power of two above its largest entry, and that power's exponent (N,)."""
    return _rescaled(hidden.swapaxes(-2, -1) @ _compressed(root, factor))


def norm(before: Floats, after: Floats) -> Floats:
    """The Frobenius norm of X^T Y, (N,)."""
    return np.asarray(np.linalg.norm(before.swapaxes(-2, -1) @ after, axis=(-2, -1)))


def schmidt(before: Floats, after: Floats) -> Floats:
    """Singular values of X^T Y, (N, D) descending, padded by 0."""
    values = np.linalg.svd(before.swapaxes(-2, -1) @ after, compute_uv=False)
    return np.pad(values, [(0, 0), (0, before.shape[-2] - values.shape[-1])])


def _compressed(root: Floats, factor: Floats) -> Floats:
    """The root of the rows root[d, r] factor[d, s]; (N, D, r), (N, D, p) -> (N, D, min(r p, D))."""
    rows = root[..., :, None] * factor[..., None, :]  # (N, D, r, p)
    return _root(rows.reshape(*rows.shape[:2], -1))


def _root(rows: Floats) -> Floats:
    """R^T (N, D, min(k, D)) of (N, D, k): it has the same products of rows."""
    return np.asarray(np.linalg.qr(rows.swapaxes(-2, -1), mode="r")).swapaxes(-2, -1)


def _rescaled(root: Floats) -> tuple[Floats, Floats]:
    exponent = np.maximum(np.frexp(np.abs(root).max((-2, -1)))[1], LEAST_EXPONENT)
    return root * np.ldexp(1.0, -exponent)[..., None, None], exponent.astype(np.float64)
