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

_ALL = 2**64 - 1
_GOLDEN, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def bits(seed: int, *keys: Key) -> npt.NDArray[np.uint64]:
    """64 random bits for every element of the broadcast keys. A string key names a purpose ("mask", "order")."""
    return more(_mix((int(seed) + _GOLDEN) & _ALL), *keys)


def more(state: int | npt.NDArray[np.uint64], *keys: Key) -> npt.NDArray[np.uint64]:
    """The bits after more keys: ``more(bits(seed, a), b)`` is ``bits(seed, a, b)``.

    So what many draws have in common is mixed once: the key of a sequence, before those of its tokens.
    """
    state = _word(state)
    for key in keys:
        state = _chain(state, _word(key))
    return np.asarray(state, dtype=np.uint64)


def uniform(seed: int, *keys: Key) -> npt.NDArray[np.float64]:
    """Uniform numbers in [0, 1) with 53 random bits, one for every element of the broadcast keys."""
    return unit(bits(seed, *keys))


def unit(drawn: npt.NDArray[np.uint64]) -> npt.NDArray[np.float64]:
    """Random bits as uniform numbers in [0, 1)."""
    return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(limit: Key, seed: int, *keys: Key) -> npt.NDArray[np.int64]:
    """Uniform integers in [0, limit); the bias of at most limit / 2**53 is far below what any sample can see."""
    return np.asarray(np.floor(uniform(seed, *keys) * np.asarray(limit)), dtype=np.int64)


def generator(seed: int, *keys: int | str) -> np.random.Generator:
    """A numpy generator for one purpose, for permutations and bootstraps."""
    return np.random.Generator(np.random.Philox(key=int(bits(seed, *keys))))


def torch_seed(seed: int, *keys: int | str) -> int:
    """A seed for ``torch.manual_seed`` (63 bits, never negative)."""
    return int(bits(seed, *keys) >> np.uint64(1))


def _word(key: Key) -> int | npt.NDArray[np.uint64]:
    if isinstance(key, str):
        return zlib.crc32(key.encode())
    if isinstance(key, int):
        return key & _ALL
    word = np.asarray(key).astype(np.uint64)
    return word if word.ndim else int(word)


def _chain(state: int | npt.NDArray[np.uint64], word: int | npt.NDArray[np.uint64]) -> int | npt.NDArray[np.uint64]:
    """The state after one more key. Plain integers stay plain: numpy takes longer over one number than Python."""
    if isinstance(state, int) and isinstance(word, int):
        return _mix(((state ^ word) + _GOLDEN) & _ALL)
    return _mix_array(np.bitwise_xor(state, word, dtype=np.uint64))


def _mix(word: int) -> int:
    word = (word ^ (word >> 30)) * _MIX_1 & _ALL
    word = (word ^ (word >> 27)) * _MIX_2 & _ALL
    return word ^ (word >> 31)


def _mix_array(word: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """``_mix(word + golden)`` in the memory of ``word``."""
    word += np.uint64(_GOLDEN)
    for shift, factor in ((30, _MIX_1), (27, _MIX_2)):
        word ^= word >> np.uint64(shift)
        word *= np.uint64(factor)
    word ^= word >> np.uint64(31)
    return word
