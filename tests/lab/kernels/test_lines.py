"""Waiting lines against plain lists."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.lab.kernels.lines import NOBODY, Lines, join, leave_after, leave_first, lines


def _members(them: Lines, line: int) -> list[int]:
    found, member = [], them.first[line]
    for _ in range(them.length[line]):
        found.append(int(member))
        member = them.behind[member]
    return found


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9), st.sampled_from(["join", "first", "middle"]))))
def test_lines_are_first_come_first_served_and_can_be_left(moves: list[tuple[int, int, str]]) -> None:
    them = lines(2, 10)
    expected: list[list[int]] = [[], []]
    for line, member, move in moves:
        if move == "join" and all(member not in queue for queue in expected):
            join(them, line, member)
            expected[line].append(member)
        elif move == "first" and expected[line]:
            assert leave_first(them, line) == expected[line].pop(0)
        elif move == "middle" and expected[line]:
            place = member % len(expected[line])
            ahead = expected[line][place - 1] if place else NOBODY
            assert leave_after(them, line, ahead) == expected[line].pop(place)
        assert [_members(them, number) for number in (0, 1)] == expected
