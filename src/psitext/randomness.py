"""Randomness as a pure function of its keys.

Every draw is named by integers: (seed, epoch, sample, position), (seed, step, rank) and so on. Nothing keeps a
state, so the order of work, the number of workers, a crash or a different batch layout cannot change what is drawn.
``bits`` chains the splitmix64 finaliser (Steele, Lea and Flood, OOPSLA 2014) over the keys; ``generator`` seeds
numpy's Philox for longer streams.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Key: TypeAlias = "int | str | npt.NDArray[Any]"

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def bits(seed: int, *keys: Key) -> npt.NDArray[np.uint64]:
    """64 random bits for every element of the broadcast keys. A string key names a purpose ("mask", "order")."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2**64 is the point
        state = _mix(_word(seed) + _GOLDEN)
        for key in keys:
            state = _mix((state ^ _word(key)) + _GOLDEN)
    return state


def uniform(seed: int, *keys: Key) -> npt.NDArray[np.float64]:
    """Uniform numbers in [0, 1) with 53 random bits, one for every element of the broadcast keys."""
    return (bits(seed, *keys) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(limit: Key, seed: int, *keys: Key) -> npt.NDArray[np.int64]:
    """Uniform integers in [0, limit); the bias of at most limit / 2**53 is far below what any sample can see."""
    return np.asarray(np.floor(uniform(seed, *keys) * np.asarray(limit)), dtype=np.int64)


def generator(seed: int, *keys: int | str) -> np.random.Generator:
    """A numpy generator for one purpose, for permutations and bootstraps."""
    return np.random.Generator(np.random.Philox(key=int(bits(seed, *keys))))


def torch_seed(seed: int, *keys: int | str) -> int:
    """A seed for ``torch.manual_seed`` (63 bits, never negative)."""
    return int(bits(seed, *keys) >> np.uint64(1))


def _word(key: Key) -> npt.NDArray[np.uint64]:
    if isinstance(key, str):
        return np.asarray(zlib.crc32(key.encode()), dtype=np.uint64)
    if isinstance(key, int):
        return np.asarray(key & 0xFFFFFFFFFFFFFFFF, dtype=np.uint64)
    return np.asarray(key).astype(np.uint64)


def _mix(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return np.asarray(word ^ (word >> np.uint64(31)))
