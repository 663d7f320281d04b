"""Every small constant and every rule of precision, with its reason.

Nothing else in psitext writes an epsilon or picks a dtype.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Literal

import torch
from torch import Tensor

Precision = Literal["fp32", "bf16"]

LAYER_NORM_EPS = 1e-12  # BERT's own value; its published checkpoints were trained with it
ADAM_EPS = 1e-8  # the default of Kingma and Ba; BERT's 1e-6 is a recipe's choice
MIN_SPECTRUM = 2.0**-10  # a bound of eigenvalues that are all 0: too large does no harm, and it can be divided by
LOST_NORM = 100.0  # in epsilons a term: a unitary keeps norms, of which rounding loses about one epsilon a term
UNITARY_GAP = 1e-3  # of |U^H U - I|: float32 leaves 1e-4 at 1,024 columns; beyond this it is no rounded unitary
UNITARY_ROUNDING = 2.0**-42  # and what is left of it after sums of 1,024 rounded products in double, with room
MIN_NORM = 2.0**-23  # float32 epsilon: a smaller floor keeps gradients of unit() finite but useless (up to 1e19)
MIN_MODULUS = 2.0**-64  # the gradient of |z| is z / |z| down to here: 0 at 0, and no overflow on the way

BALANCED_FLOOR = 2.0**-34  # of the first Hankel singular value: rounding divided by smaller ones is no direction
FLOAT32_GAP = 1e-3  # of values of about 1 that two programs compute in float32; beyond it their formulas differ

# Of an outcome whose logarithm is taken: far below what shots could tell from 0, and 1 / |amplitude| stays below 2^20.
MIN_PROBABILITY = 2.0**-40

# Of the norm of a matrix product state, measured at all its cuts in double: Gram matrices lose half the digits of what
# cancels in it, so beyond the first their spectrum is not believed; beyond the second no spectrum is.
GRAM_DRIFT, ROOT_DRIFT = 1e-11, 1e-6
SETTLED = 2.0**-40  # squared Schmidt coefficients of two long chains that are the same but for rounded steps
DEGENERATE = 1e-5  # rounding parts three equal eigenvalues of one Jordan block by epsilon^(1/3): they count as one
REGRESSION_SETTLED = 1e-7  # largest gradient of a fitted regression: 1e-4 leaves 0.05 in a probability of few rows
OPPOSITE = 2.0**-20  # |u + v| of unit vectors of float32 numbers: below it only their rounding tells where between lies
ORTHOGONAL = 2.0**-20  # |<u|v>| of unit vectors of float32 numbers: below it their rounding makes its phase
FIDELITY_ROUNDING = 2.0**-40  # a fidelity this near to a wanted one is it; float32 amplitudes alone lose 2^-46
RANK_OF_FLOAT32 = 2.0**-20  # of the largest Schmidt coefficient of float32 amplitudes: what is smaller is rounding

# Of the mean variance of latents, added to all variances of a Gaussian fitted to them: no direction along which few of
# them happen to lie flat becomes infinitely probable.
FLAT = 1e-6


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Matrix products in bfloat16 when asked for; parameters, norms, softmax and losses stay in float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")


def fastest(device: torch.device) -> Precision:
    """The precision in which this device multiplies matrices faster, by a measured product.

    Processors differ more than their flags tell: with AVX512_BF16 alone some run bfloat16 three times as fast as
    float32, others at half its speed.
    """
    if device.type != "cpu":
        return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "fp32"
    return "bf16" if product_seconds(torch.bfloat16) < 0.8 * product_seconds(torch.float32) else "fp32"


def product_seconds(dtype: torch.dtype, rows: int = 1024, width: int = 512, tries: int = 5) -> float:
    """Shortest processor time of a (rows, width) x (width, width) product on one of several tries, in seconds."""
    a, b = torch.ones(rows, width, dtype=dtype), torch.ones(width, width, dtype=dtype)
    times = []
    for _ in range(tries):
        began = time.process_time()
        torch.nn.functional.linear(a, b)
        times.append(time.process_time() - began)
    return min(times)


def norm(vector: Tensor) -> Tensor:
    """Euclidean norm over the last axis, kept as an axis of one; real or complex in, real out; (..., D) -> (..., 1)."""
    size: Tensor = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return size


def unit(vector: Tensor) -> Tensor:
    """``vector`` over its norm along the last axis. The floor keeps a zero vector zero and its gradient finite."""
    return vector / norm(vector).clamp_min(MIN_NORM)


def float32_scores(scores: Tensor) -> Tensor:
    """Scores as float32 (float64 stays), whatever the precision of the products that made them."""
    return scores if scores.dtype == torch.float64 else scores.float()


def product_dtype(x: Tensor) -> torch.dtype:
    """The dtype in which torch would multiply ``x`` with a matrix here: autocast's where it is on (float64 stays)."""
    if x.dtype != torch.float64 and torch.is_autocast_enabled(x.device.type):
        return torch.get_autocast_dtype(x.device.type)
    return x.dtype


def as_complex(vector: Tensor) -> Tensor:
    """Complex values of at least float32 parts: complex128 of double, complex64 of anything else; (...) -> (...).

    A real vector gets zero imaginary parts.
    """
    if vector.is_complex():
        return vector if vector.dtype == torch.complex128 else vector.to(torch.complex64)
    real = float32_scores(vector)
    return torch.complex(real, torch.zeros_like(real))


def binary_exponent(size: Tensor) -> Tensor:
    """The integers k, as double, with ``size`` / 2^k in [1/2, 1); 0 of what is 0 or not finite. For exact rescaling."""
    return torch.where(size.isfinite(), torch.frexp(size).exponent, 0).double()


def scaled(value: Tensor, exponent: Tensor) -> Tensor:
    """``value`` 2^-``exponent`` in double, exact but for underflow, also where no double holds 2^-``exponent``."""
    half = (exponent / 2).floor()
    return value * torch.exp2(-half) * torch.exp2(half - exponent)
