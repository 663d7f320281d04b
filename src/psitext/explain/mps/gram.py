"""Both sides of a cut as Gram matrices: fast, batched, independent of the dimension of words.

With A^s = diag(W~_I[:, s]) W~_H and the kernel K = W~_I W~_I^T, the sums over s become entrywise products (o):

    E_m = sum_s A^s E_{m-1} A^{sT} = (W~_H E_{m-1} W~_H^T) o K        E_0 = omega_L omega_L^T
    F_m = sum_s A^{sT} F_{m+1} A^s = W~_H^T (F_{m+1} o K) W~_H        F_T = omega_R omega_R^T

They stay positive semidefinite (Schur's product theorem), cost 4 D^3 a site, and give lambda_i^2 = eig_i(E_m F_m).
tr(E_m F_m) is the squared norm of the state, whatever m. Entropies are right to rounding; coefficients below the square
root of epsilon, 1.5e-8, are not (``roots.py`` has those). All arrays are double; N chains.
"""

from __future__ import annotations

import numpy as np

from psitext.explain.mps.stack import Floats

POWER = 2  # a Gram matrix holds squares: twice the exponents
LEAST_EXPONENT = -1000  # of one step; 2^1000 is a double, and what is smaller still grows in the next step


def kernel(inputs: Floats) -> Floats:
    """K (N, D, D) of W~_I (N, D, p)."""
    return inputs @ inputs.swapaxes(-2, -1)


def start(vector: Floats) -> Floats:
    """A boundary (N, D) as a Gram matrix (N, D, D)."""
    return vector[..., :, None] * vector[..., None, :]


def early(hidden: Floats, gram: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """E_{m-1} -> E_m over the power of two above its trace, and that power's exponent (N,); ``factor`` is K."""
    return _rescaled((hidden @ gram @ hidden.swapaxes(-2, -1)) * factor)


def late(hidden: Floats, gram: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """F_{m+1} -> F_m over the power of two above its trace, and that power's exponent (N,); ``factor`` is K."""
    return _rescaled(hidden.swapaxes(-2, -1) @ (gram * factor) @ hidden)


def norm(before: Floats, after: Floats) -> Floats:
    """sqrt(tr(E F)), (N,)."""
    return np.asarray(np.sqrt(np.maximum((before * after).sum((-2, -1)), 0)))


def schmidt(before: Floats, after: Floats) -> Floats:
    """Square roots of the eigenvalues of E F, (N, D) descending.

    As eigenvalues of E^1/2 F E^1/2, which cannot be complex, and with hidden units first scaled so that both diagonals
    are the same: a unit whose values are tiny, and whose effect is as large in turn, keeps its digits.
    """
    sizes = np.stack([before, after]).diagonal(axis1=-2, axis2=-1)  # (2, N, D)
    seen = (sizes > 0).all(0)
    logs = np.log(np.where(seen, sizes, 1))  # a unit that one side does not see stays as it is
    gauge = np.exp((logs[1] - logs[0]) / 4)
    pair = start(gauge)
    values, vectors = np.linalg.eigh(before * pair)
    root = vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
    squares = np.linalg.eigvalsh(root.swapaxes(-2, -1) @ (after / pair) @ root)
    return np.asarray(np.sqrt(np.maximum(squares, 0))[..., ::-1])


def _rescaled(gram: Floats) -> tuple[Floats, Floats]:
    exponent = np.maximum(np.frexp(np.trace(gram, axis1=-2, axis2=-1))[1], LEAST_EXPONENT)
    return gram * np.ldexp(1.0, -exponent)[..., None, None], exponent.astype(np.float64)
