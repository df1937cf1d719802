"""The notice while a kernel is compiled, with a real compilation by numba."""

import io
import sys

import numba
import pytest

from headrace.cli.compiling import NOTICE, compiling_told
from headrace.cli.progress import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_is_told_while_numba_compiles_and_then_shows_the_bar_again(monkeypatch: pytest.MonkeyPatch) -> None:
    part = numba.njit(lambda number: number + 1)
    whole = numba.njit(lambda number: 2 * part(number))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Bar() as bar, compiling_told(bar):
        bar.show("simulate", done=0, total=2, unit="seeds", seconds_left=None)
        assert whole(1) == 4
        said = terminal.getvalue()
        assert said.count(NOTICE) == 1
        assert said.endswith("0/2 seeds")
        assert whole(2) == 6
    assert terminal.getvalue().count(NOTICE) == 1
