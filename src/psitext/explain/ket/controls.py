"""What an entropy of sentence kets is to be set against: kets without any structure.

A random ket is nearly as entangled as can be. Of a uniformly random one, cut into parts of m <= k dimensions, the mean
entropy is (Page 1993, conjecture; proofs by Foong and Kanno 1994 and others)

    S = sum over j from k + 1 to m k of 1 / j - (m - 1) / (2 k)  nats,  about log m - m / (2 k).

The order of an encoder's coordinates is arbitrary, as any permutation of them, undone by the next layer, computes the
same function; so is which of them share a qubit. Kets in another order of coordinates keep all the sizes and all
fidelities, and lose what the order had to do with entanglement. All is drawn by key.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from psitext.errors import UserError
from psitext.nn.kets.cuts import entropies
from psitext.nn.kets.qubits import qubits_for
from psitext.nn.numerics import unit
from psitext.randomness import generator

DRAWS = 200  # random kets that a mean is over: an entropy of theirs deviates by some hundredths of a bit


def page_bits(first: int, second: int) -> float:
    """The mean entropy in bits of uniformly random complex kets of two parts of so many dimensions.

    Errors: a part without dimensions.
    """
    least, most = sorted((first, second))
    if least < 1:
        raise UserError(f"a part of a ket has at least 1 dimension, not {least}")
    places = np.arange(most + 1, least * most + 1, dtype=np.float64)
    return (float((1 / places).sum()) - (least - 1) / (2 * most)) / math.log(2)


def page_profile(qubits: int) -> list[float]:
    """``page_bits`` at every cut of n qubits; n - 1 of them."""
    return [page_bits(1 << cut, 1 << (qubits - cut)) for cut in range(1, qubits)]


def random_profile(width: int, *, real: bool = False) -> list[float]:
    """The mean entropy in bits of random kets of a width at every cut: by Page's formula where complex amplitudes fill
    all qubits, else of ``DRAWS`` random kets (real ones, and those padded with zeros, have less).
    """
    qubits = qubits_for(width)
    if width == 1 << qubits and not real:
        return page_profile(qubits)
    return [float(bits) for bits in entropies(random_kets(DRAWS, width, real=real)).mean(0)]


def random_kets(count: int, width: int, seed: int = 0, *, real: bool = False) -> Tensor:
    """Uniformly random unit vectors; (count, width) complex128, with imaginary parts of 0 where ``real``."""
    draws = generator(seed, "random kets").standard_normal((2, count, width))
    found = torch.complex(torch.from_numpy(draws[0]), torch.from_numpy(draws[1] * (not real)))
    return unit(found)


def shuffle(width: int, seed: int = 0) -> Tensor:
    """Another order of the coordinates, the same for all kets: ``vector[:, order]``; (width,) int64."""
    return torch.from_numpy(generator(seed, "order of coordinates").permutation(width))


def unshuffle(order: Tensor) -> Tensor:
    """The order that undoes another."""
    return torch.argsort(order)
