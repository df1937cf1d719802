import io
import sys

import pytest

from headrace.cli.progress import Bar, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_shows_how_far_it_is_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Bar() as bar:
        bar.show("004-fig4", done=6, total=12, unit="points", seconds_left=40)
        assert terminal.getvalue().endswith(f"004-fig4 {'█' * 12}{'░' * 12} 6/12 points, 40 s left")
        bar.show("004-fig4", done=12, total=12, unit="points", seconds_left=0)
    assert terminal.getvalue().endswith(f"{'█' * 24} 12/12 points\r\x1b[K")


def test_a_bar_is_silent_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar.show("x", done=1, total=2, unit="points", seconds_left=None)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (99, "99 s"), (400, "7 min"), (40_000, "11 h")])
def test_durations_are_in_the_largest_sensible_unit(seconds: float, text: str) -> None:
    assert duration(seconds) == text
