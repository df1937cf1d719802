"""When leases end: settled ones are let go of early, and no other ever."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.limits import Limits, QueueSettings
from headrace.protocols.deadlines import SLACK, Deadlines
from headrace.protocols.subqueue import Grant, Subqueue


def queues(*names: str) -> dict[str, Subqueue]:
    return {name: Subqueue(name, QueueSettings(), limits=Limits(), loading=False, alarms=[]) for name in names}


def lease(sub: Subqueue, first: int, count: int) -> None:
    grant = Grant(first, count, b"", 0, False, "", 0)
    sub.leases.update((counter, (b"", grant)) for counter in range(first, first + count))


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(1, 3),  # how many are leased
            st.integers(0, 50),  # for how long
            st.lists(st.integers(0, 40), max_size=4),  # which receipts are settled then
            st.lists(st.tuples(st.integers(0, 40), st.integers(0, 80)), max_size=2),  # which are prolonged, to when
        ),
        max_size=20,
    )
)
def test_what_expires_is_what_is_held_beyond_its_period(
    steps: list[tuple[str, int, int, list[int], list[tuple[int, int]]]],
) -> None:
    subs, deadlines, ends = queues("a", "b"), Deadlines(), dict[int, int]()
    first = 0
    for name, count, period, settled, prolonged in steps:
        lease(subs[name], first, count)
        deadlines.set(period, first, count, subs[name])
        ends.update((counter, period) for counter in range(first, first + count))
        first += count
        for counter in settled:
            for sub in subs.values():
                sub.leases.pop(counter, None)
        for counter, end in prolonged:
            for sub in subs.values():
                if counter in sub.leases and end > ends[counter]:
                    deadlines.prolong(end, [counter], sub.name)
                    ends[counter] = end
    for now in (10, 40, 80):
        over = deadlines.expired(now, subs)
        for name, sub in subs.items():
            assert sorted(over.get(name, [])) == sorted(c for c in sub.leases if ends[c] <= now)
            for counter in over.get(name, []):
                del sub.leases[counter]


def test_leases_that_are_settled_one_by_one_leave_nothing_behind() -> None:
    subs, deadlines = queues("a"), Deadlines()
    for counter in range(2 * SLACK):
        lease(subs["a"], counter, 1)
        deadlines.set(counter, counter, 1, subs["a"])
        deadlines.prolong(counter + 10, [counter], "a")
        subs["a"].leases.clear()
        if counter % SLACK == 0:
            deadlines.tidy(subs)
    deadlines.tidy(subs)
    assert deadlines.next_us() is None or len(deadlines._heap) <= SLACK
    assert len(deadlines._prolonged) <= SLACK
