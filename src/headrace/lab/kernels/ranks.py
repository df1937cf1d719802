"""Which keys of a bounded universe are present, and how many lie below a given one.

A bitmap with counts by 512 and by 16,384 keys: setting and clearing touch three numbers, and counting sums three
short runs of them, which is quicker than a tree at the sizes that simulations have (a million keys take 62 numbers
at the top) and lives in the first-level cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import inlined

_ONE = np.uint64(1)
_M1, _M2, _M4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
_H1, _U2, _U4, _U56 = np.uint64(0x0101010101010101), np.uint64(2), np.uint64(4), np.uint64(56)


class Ranks(NamedTuple):
    """A set of keys in [0, universe)."""

    words: NDArray[np.uint64]
    lines: NDArray[np.int32]
    blocks: NDArray[np.int32]


def ranks(universe: int) -> Ranks:
    """The empty set."""
    blocks = (universe >> 14) + 1
    return Ranks(
        words=np.zeros(blocks * 256, dtype=np.uint64),
        lines=np.zeros(blocks * 32, dtype=np.int32),
        blocks=np.zeros(blocks, dtype=np.int32),
    )


@inlined
def _ones(word: np.uint64) -> int:
    """How many bits of `word` are set (LLVM knows this pattern for what it is)."""
    word = word - ((word >> _ONE) & _M1)
    word = (word & _M2) + ((word >> _U2) & _M2)
    word = (word + (word >> _U4)) & _M4
    return int(np.int64((word * _H1) >> _U56))


@inlined
def insert(members: Ranks, key: int) -> None:
    """Put `key` in; it must not be there."""
    members.words[key >> 6] |= _ONE << np.uint64(key & 63)
    members.lines[key >> 9] += 1
    members.blocks[key >> 14] += 1


@inlined
def remove(members: Ranks, key: int) -> None:
    """Take `key` out; it must be there."""
    members.words[key >> 6] ^= _ONE << np.uint64(key & 63)
    members.lines[key >> 9] -= 1
    members.blocks[key >> 14] -= 1


@inlined
def below(members: Ranks, key: int, first_block: int = 0) -> int:
    """How many members are less than `key`, counted from the first key of `first_block`."""
    words, lines, blocks = members.words, members.lines, members.blocks
    count = 0
    for block in range(first_block, key >> 14):
        count += blocks[block]
    for line in range((key >> 14) << 5, key >> 9):
        count += lines[line]
    for word in range((key >> 9) << 3, key >> 6):
        count += _ones(words[word])
    return count + _ones(words[key >> 6] & ((_ONE << np.uint64(key & 63)) - _ONE))
