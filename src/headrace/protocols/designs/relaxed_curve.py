"""How many nodes a pop should peek: enough for a target, and never beyond the minimum of the U-curve.

With one client every further peek helps, by the law. With many, what was peeked is stale when the pop arrives, and
all go to the same few best nodes: the mean rank error falls with the peeks, then rises again. The table holds the
measured minima (`headrace lab run 004-u-curve`: naive pops, freely interleaved, growing keys, random placement).
It is conservative in between: the fewer nodes and the more clients of a neighbour have the smaller minimum. A
conditional pop whose refusal carries the fresh top has no such minimum, but pays for stale peeks in requests.
"""

from __future__ import annotations

from headrace.protocols.designs import relaxed_law

MINIMA = {
    5: {8: 3, 50: 3, 128: 2},
    20: {8: 5, 50: 4, 128: 3},
    100: {8: 10, 50: 6, 128: 4},
}
"""By nodes, then clients at once: the peeks of the least mean rank error."""


def most_useful(nodes: int, clients: int) -> int:
    """The peeks beyond which this many clients at once no longer gain."""
    if clients <= 1:
        return nodes
    row = MINIMA[max((known for known in MINIMA if known <= nodes), default=min(MINIMA))]
    minimum = row[min((known for known in row if known >= clients), default=max(row))]
    return min(nodes, minimum)


def peeks_for(nodes: int, clients: int, mean_error: float) -> int:
    """The fewest peeks whose law promises a mean rank error of at most `mean_error`, as far as more are useful.

    The promise is that of one client: with more the error is higher, and a conditional pop comes close to it.
    """
    most = most_useful(nodes, clients)
    for peeks in range(2, most):
        if relaxed_law.mean(nodes, peeks) <= mean_error:
            return peeks
    return most
