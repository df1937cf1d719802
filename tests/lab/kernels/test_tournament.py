"""The tournament tree against a plain search for the least."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.lab.kernels.tournament import schedule, tournament


@given(
    st.integers(1, 40),
    st.lists(st.tuples(st.integers(0, 39), st.floats(0, 100) | st.just(float("inf"))), max_size=120),
)
def test_the_winner_is_always_a_slot_of_the_least_time(slots: int, moves: list[tuple[int, float]]) -> None:
    times, winners = tournament(slots)
    expected = [float("inf")] * len(times)
    for slot, time in moves:
        schedule(times, winners, slot % slots, time)
        expected[slot % slots] = time
        assert expected[winners[1]] == min(expected)
        assert times.tolist() == expected
