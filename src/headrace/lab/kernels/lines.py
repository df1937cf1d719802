"""Waiting lines, first come first served, in flat arrays: each member stands in one line at most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import inlined

Ints = NDArray[np.int64]

NOBODY = -1


class Lines(NamedTuple):
    """`length`, `first` and `last` by line, `behind` by member."""

    length: Ints
    first: Ints
    last: Ints
    behind: Ints


def lines(count: int, members: int) -> Lines:
    """`count` empty lines for at most `members` members."""
    return Lines(
        length=np.zeros(count, dtype=np.int64),
        first=np.full(count, NOBODY),
        last=np.full(count, NOBODY),
        behind=np.full(members, NOBODY),
    )


@inlined
def join(them: Lines, line: int, member: int) -> None:
    """`member` is now the last of `line`."""
    them.behind[member] = NOBODY
    if them.length[line] == 0:
        them.first[line] = member
    else:
        them.behind[them.last[line]] = member
    them.last[line] = member
    them.length[line] += 1


@inlined
def leave_first(them: Lines, line: int) -> int:
    """Takes the first member out of `line`, which is not empty."""
    member = them.first[line]
    them.first[line] = them.behind[member]
    them.length[line] -= 1
    return int(member)


@inlined
def leave_after(them: Lines, line: int, ahead: int) -> int:
    """Takes out the member behind `ahead`, or the first when that is NOBODY."""
    if ahead == NOBODY:
        return leave_first(them, line)
    member = them.behind[ahead]
    them.behind[ahead] = them.behind[member]
    if them.last[line] == member:
        them.last[line] = ahead
    them.length[line] -= 1
    return int(member)
