"""What a supervisor reads of a process."""

import multiprocessing

import pytest

from headrace.work.attempts import Begun
from headrace.work.board import Board

LONGEST = Begun("q" * 200, 2**63, 2**63, "i" * 36, "t" * 200, 10**9, "r" * 40, 1e9)


@pytest.fixture
def board() -> Board:
    return Board.blank(multiprocessing.get_context("spawn"), 3)


def test_a_blank_board_says_nothing(board: Board) -> None:
    assert not board.is_ready
    assert list(board.running()) == []
    assert board.overdue(10**18) == []


def test_what_is_running_is_seen_with_its_slot(board: Board) -> None:
    board.say_ready(bytes(range(16)))
    board.begin(0, LONGEST, 0)
    board.begin(2, LONGEST, 50)
    assert board.is_ready
    assert board.session == bytes(range(16))
    assert list(board.running()) == [(0, LONGEST), (2, LONGEST)]


def test_only_what_has_a_deadline_is_overdue(board: Board) -> None:
    board.begin(0, LONGEST, 0)
    board.begin(1, LONGEST, 100)
    board.begin(2, LONGEST, 101)
    assert board.overdue(99) == []
    assert board.overdue(100) == [1]
    board.end(1)
    assert board.overdue(100) == []
    assert [slot for slot, _ in board.running()] == [0, 2]
