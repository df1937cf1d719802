"""The pages made from the program are current, and nothing in them is left unsaid."""

import click
import pytest

from headrace.cli.documented import field_docs
from headrace.cli.pages import DOCS, PAGES, documented_commands
from headrace.core.limits import Limits, QueueSettings
from headrace.server.limits import ServerLimits


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is not what the program says: run `make docs`"


def test_every_command_and_every_option_says_what_it_is() -> None:
    silent = [name for name, command in documented_commands() if not command.help]
    for name, command in documented_commands():
        for option in command.params:
            if isinstance(option, click.Option) and not option.help:
                silent.append(f"{name} {option.opts[0]}")
    assert silent == []


@pytest.mark.parametrize("cls", [Limits, QueueSettings, ServerLimits])
def test_every_limit_and_setting_says_what_it_is(cls: type) -> None:
    assert [name for name, text in field_docs(cls).items() if not text] == []
