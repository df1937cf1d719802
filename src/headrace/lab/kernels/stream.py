"""Random streams for compiled kernels: xoshiro256** over a state array, seeded by splitmix64.

A stream is a `uint64[4]`; every draw moves it on and nothing else does, so a kernel is deterministic in the
streams it is handed. `stream(seed, "arrivals")` and `stream(seed, "service")` are independent of one another,
and a replication's stream is named by its number. Algorithms: Blackman and Vigna, "Scrambled linear
pseudorandom number generators" (2021); Steele, Lea and Flood (2014) for the seeding; Lemire (2019) for the
bounded draw.
"""

from __future__ import annotations

import hashlib
import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

Stream = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_TO_UNIT = 1.0 / (1 << 53)

# Without these, numba would mix uint64 with int64 literals and fall back to float64.
_U5, _U7, _U9, _U11, _U17, _U19, _U32, _U45, _U57 = (np.uint64(k) for k in (5, 7, 9, 11, 17, 19, 32, 45, 57))
_LOW = np.uint64(0xFFFFFFFF)


def stream(seed: int, *names: str | int) -> Stream:
    """The stream of `seed` for one purpose; other names give streams that are independent of it."""
    purpose = "/".join(str(name) for name in names).encode()
    mixed = int.from_bytes(hashlib.blake2b(purpose, digest_size=8).digest(), "little") ^ (seed & _MASK)
    state = np.empty(4, dtype=np.uint64)
    for word in range(4):
        mixed = (mixed + 0x9E3779B97F4A7C15) & _MASK
        z = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        state[word] = z ^ (z >> 31)
    return state


@nb.njit(inline="always")
def bits(state: Stream) -> np.uint64:
    """64 random bits (xoshiro256**)."""
    s1 = state[1]
    x = s1 * _U5
    result = ((x << _U7) | (x >> _U57)) * _U9
    s2 = state[2] ^ state[0]
    s3 = state[3] ^ s1
    state[1] = s1 ^ s2
    state[0] ^= s3
    state[2] = s2 ^ (s1 << _U17)
    state[3] = (s3 << _U45) | (s3 >> _U19)
    return result


@nb.njit(inline="always")
def uniform(state: Stream) -> float:
    """A float in [0, 1)."""
    return np.float64(bits(state) >> _U11) * _TO_UNIT


@nb.njit(inline="always")
def below(state: Stream, bound: int) -> int:
    """A whole number in [0, bound), for 0 < bound < 2**32; its bias is under bound / 2**32."""
    return int(np.int64(((bits(state) >> _U32) * np.uint64(bound)) >> _U32))


@nb.njit(inline="always")
def exponential(state: Stream, mean: float) -> float:
    """An exponential time of this mean."""
    return -mean * math.log(1.0 - uniform(state))
