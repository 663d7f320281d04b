"""Chains as the matrix product states of other libraries, and back.

A ``Chain`` becomes ``Sites``, one array a word with the boundaries absorbed, which is what quimb, TeNPy and
tensorkrowch hold; what comes back from them is ``Sites`` too, since they know no translation invariance. ``to_numpy``
keeps a chain a chain. Word 1, the earliest, is site 0 everywhere. Letters: T sites, p dimensions of a site, l and r
bonds, B sentences.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from psitext.errors import UserError
from psitext.explain.mps.chain import Chain
from psitext.explain.mps.spectrum import spectrum
from psitext.explain.mps.stack import Floats

SAFE = 400  # exponent of 2 of a norm whose square, and the squares on the way to it, a double holds


@dataclass(frozen=True, slots=True, eq=False)
class Sites:
    """A finite matrix product state: the contraction of its arrays, times exp(``log_scale``).

    Errors: no sites, or arrays that do not fit together, are not real or not finite.
    """

    arrays: tuple[Floats, ...]  # T of (l, p, r); l of the first and r of the last are 1
    log_scale: float = 0.0

    def __post_init__(self) -> None:
        shapes = [array.shape for array in self.arrays]
        if not shapes or any(len(shape) != 3 for shape in shapes):
            raise UserError(f"sites are arrays of (left bond, dimension, right bond), not {shapes}")
        lefts, rights = [1, *(shape[2] for shape in shapes)], [*(shape[0] for shape in shapes), 1]
        if lefts != rights:
            raise UserError(f"the bonds of these sites do not fit together, or the ends are not closed: {shapes}")
        if any(array.dtype != np.float64 or not np.isfinite(array).all() for array in self.arrays):
            raise UserError("sites hold real numbers in double, all of them finite")

    @property
    def length(self) -> int:
        """T."""
        return len(self.arrays)

    def contract(self, words: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The state on word vectors Phi~ (B, T, p): mantissas and natural log scales (B,), as of ``chain.contract``."""
        vectors = np.asarray(words, dtype=np.float64)
        if vectors.shape[1] != self.length:
            raise UserError(f"a state of {self.length} sites cannot read {vectors.shape[1]} words")
        side, exponents = np.ones((len(vectors), 1)), np.zeros(len(vectors))
        for array, word in zip(self.arrays, np.moveaxis(vectors, 1, 0), strict=True):
            side = np.einsum("bl,lpr,bp->br", side, array, word, optimize=True)
            step = np.frexp(np.abs(side).max(1))[1]
            side, exponents = np.ldexp(side, -step[:, None]), exponents + step
        return side[:, 0], exponents * math.log(2) + self.log_scale

    def log_norm(self) -> float:
        """The natural logarithm of the state's norm, -infinity of a state that is 0."""
        gram, exponent = np.ones((1, 1)), 0
        for array in self.arrays:
            gram = np.einsum("lk,lpr,kps->rs", gram, array, array, optimize=True)
            step = int(np.frexp(np.trace(gram))[1])
            gram, exponent = np.ldexp(gram, -step), exponent + step
        square = gram.item()
        return (math.log(square) + exponent * math.log(2)) / 2 + self.log_scale if square > 0 else -math.inf

    def schmidt(self) -> tuple[Floats, ...]:
        """Schmidt coefficients at all T-1 cuts, as long as the cut's rank allows: not squared, descending, normalised.

        By the roots of ``roots.py``; NaN of a state that is 0.
        """
        early = _roots(self.arrays)
        late = _roots([array.transpose(2, 1, 0) for array in reversed(self.arrays)])[::-1]
        with np.errstate(invalid="ignore"):
            values = [np.linalg.svd(x.T @ y, compute_uv=False) for x, y in zip(early[:-1], late[1:], strict=True)]
            return tuple(each / np.linalg.norm(each) for each in values)


def sites(chain: Chain) -> Sites:
    """One chain, array by array: A^s with the earlier bond first, omega_L in the first and omega_R in the last.

    Where doubles would not hold the square of the norm, powers of two spread over the sites bring it to 1 and
    ``log_scale`` keeps them. Errors: those of ``spectrum``; several restarts at once.
    """
    if chain.restarts:
        raise UserError("a chain is written one restart at a time: give chain[i]")
    core = _core(chain)
    arrays = [core] * chain.length
    exponent = round(spectrum(chain, "mid").log_norm.item() / math.log(2))
    if abs(exponent) > SAFE:
        until = [exponent * site // chain.length for site in range(chain.length + 1)]
        arrays = [np.ldexp(core, low - high) for low, high in pairwise(until)]
    arrays[0] = np.einsum("l,lpr->pr", chain.first.numpy(force=True), arrays[0])[None]
    arrays[-1] = np.einsum("lpr,r->lp", arrays[-1], chain.last.numpy(force=True))[..., None]
    return Sites(tuple(arrays), exponent * math.log(2) if abs(exponent) > SAFE else 0.0)


def to_numpy(state: Chain | Sites) -> dict[str, npt.NDArray[Any]]:
    """Named arrays, to be saved with numpy.savez or safetensors.

    Of a chain ``hidden``, ``inputs``, ``first``, ``last``, ``length`` and, for reading elsewhere, ``site`` (l, p, r);
    of sites ``site_0001``, ... and ``log_scale``.
    """
    if isinstance(state, Sites):
        digits = max(4, len(str(state.length)))  # names sort as sites do
        named = {f"site_{number:0{digits}}": array for number, array in enumerate(state.arrays, start=1)}
        return {**named, "log_scale": np.array(state.log_scale)}
    parts = {name: getattr(state, name).numpy(force=True).copy() for name in ("hidden", "inputs", "first", "last")}
    return {**parts, "length": np.array(state.length), "site": _core(state)}


def from_numpy(arrays: Mapping[str, npt.NDArray[Any]]) -> Chain | Sites:
    """What ``to_numpy`` wrote, from a dictionary or an open .npz file. Errors: other names than it gives."""
    found = sorted(name for name in arrays if name.startswith("site_"))
    if found and "log_scale" in arrays:
        return Sites(tuple(arrays[name] for name in found), float(arrays["log_scale"]))
    if not {"hidden", "inputs", "first", "last", "length"} <= set(arrays):
        raise UserError(f"these arrays are no chain and no sites: {', '.join(arrays) or 'none'}")
    hidden, inputs, first, last = (torch.tensor(arrays[name]) for name in ("hidden", "inputs", "first", "last"))
    return Chain(hidden.double(), inputs.double(), first.double(), last.double(), int(arrays["length"]))


def to_quimb(state: Chain | Sites) -> Any:
    """A quimb MatrixProductState; a log scale becomes its ``exponent`` (of 10), which its entropies do not read.

    Errors: quimb is not installed.
    """
    held = _sites(state)
    arrays = [held.arrays[0][0], *held.arrays[1:-1], held.arrays[-1][..., 0]]
    mps = _library("quimb.tensor", "quimb").MatrixProductState(arrays, shape="lpr")
    mps.exponent = held.log_scale / math.log(10)
    return mps


def from_quimb(mps: Any) -> Sites:
    """The sites of a quimb MatrixProductState with open ends."""
    if mps.cyclic:
        raise UserError("this state is periodic; sites have open ends")
    arrays = [mps[site].transpose(*_inds(mps, site)).data for site in mps.sites]
    return _closed(arrays, float(mps.exponent) * math.log(10))


def to_tenpy(state: Chain | Sites) -> Any:
    """A TeNPy MPS in canonical form; its ``norm`` is the state's where a double holds that, else 1.

    Errors: TeNPy is not installed; a state that is 0.
    """
    held = _sites(state)
    charges = _library("tenpy.linalg.np_conserved", "TeNPy").LegCharge
    of_sites, networks = _library("tenpy.networks.site", "TeNPy"), _library("tenpy.networks.mps", "TeNPy")
    log_norm = held.log_norm()
    if math.isinf(log_norm):
        raise UserError("this state is 0; TeNPy holds normalised states only")
    words = [of_sites.Site(charges.from_trivial(array.shape[1])) for array in held.arrays]
    arrays = [array.transpose(1, 0, 2) for array in held.arrays]
    psi = networks.MPS.from_Bflat(words, arrays, bc="finite", form=None, unit_cell_width=held.length)
    if psi.form[0] is None:  # else the canonical form is made already, and the norm dropped
        psi.canonical_form()
    psi.norm = math.exp(log_norm) if abs(log_norm) < math.log(np.finfo(np.float64).max) else 1.0
    return psi


def from_tenpy(psi: Any) -> Sites:
    """The sites of a finite TeNPy MPS, right-canonical, times its ``norm``; dimensions in TeNPy's order."""
    if psi.bc != "finite":
        raise UserError(f"this state is {psi.bc}; sites have open ends")
    arrays = [psi.get_B(site, form="B").to_ndarray() for site in range(psi.L)]  # vL, p, vR
    return _closed(arrays, math.log(psi.norm))


def to_tensorkrowch(state: Chain | Sites) -> Any:
    """A tensorkrowch MPS with open ends, double; it has no place for a log scale, which stays in ``sites(chain)``.

    Errors: tensorkrowch is not installed.
    """
    held = _sites(state)
    arrays = [held.arrays[0][0], *held.arrays[1:-1], held.arrays[-1][..., 0]]
    return _library("tensorkrowch", "tensorkrowch").models.MPS(tensors=[torch.tensor(array) for array in arrays])


def from_tensorkrowch(mps: Any) -> Sites:
    """The sites of a tensorkrowch MPS with open ends."""
    if mps.boundary != "obc":
        raise UserError("this state is periodic; sites have open ends")
    return _closed([tensor.numpy(force=True) for tensor in mps.tensors], 0.0)


def _roots(arrays: Sequence[Floats]) -> list[Floats]:
    """X_1 ... X_T of arrays (l, p, r): (r, columns) with X X^T the Gram matrix of everything up to that site."""
    root, found = np.ones((1, 1)), []
    for array in arrays:
        rows = np.einsum("lc,lpr->cpr", root, array, optimize=True)
        root = np.asarray(np.linalg.qr(rows.reshape(-1, array.shape[2]), mode="r")).T
        root = np.ldexp(root, -np.frexp(np.abs(root).max())[1])
        found.append(root)
    return found


def _core(chain: Chain) -> Floats:
    """A^s[r, l] as (l, p, r)."""
    return np.asarray(torch.einsum("...rs,...rl->...lsr", chain.inputs, chain.hidden).numpy(force=True)).copy()


def _sites(state: Chain | Sites) -> Sites:
    held = state if isinstance(state, Sites) else sites(state)
    if held.length < 2:
        raise UserError("a state of one site is no matrix product; other libraries want two or more")
    return held


def _closed(arrays: list[npt.NDArray[Any]], log_scale: float) -> Sites:
    """Sites of arrays whose ends lack the outer bonds, or have them."""
    whole = list(arrays)
    if whole[0].ndim == 2:
        whole[0] = whole[0][None]
    if whole[-1].ndim == 2:
        whole[-1] = whole[-1][..., None]
    if any(np.iscomplexobj(array) for array in whole):
        raise UserError("this state is complex; sites are real")
    return Sites(tuple(np.array(array, dtype=np.float64) for array in whole), log_scale)


def _inds(mps: Any, site: int) -> list[str]:
    """The names of a quimb site's indices: left bond, dimension, right bond."""
    left = [mps.bond(site - 1, site)] if site > 0 else []
    right = [mps.bond(site, site + 1)] if site < mps.L - 1 else []
    return [*left, mps.site_ind(site), *right]


def _library(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise UserError(f"this needs {name}: pip install 'psitext[tensor]'") from None
