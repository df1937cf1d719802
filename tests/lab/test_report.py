from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from headrace.core.errors import Gone, Invalid
from headrace.lab.papers import Scale
from headrace.lab.report import findings, page, write
from tests.lab.tables import make_table

pytestmark = pytest.mark.usefixtures("toy_paper")


class Outline(HTMLParser):
    """What a page refers to, and whether its elements are closed in order."""

    EMPTY = frozenset({"meta", "link", "br", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)
        given = dict(attrs)
        self.ids += [value for value in [given.get("id")] if value]
        self.links += [value for value in [given.get("href"), given.get("src")] if value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_is_whole_and_refers_to_nothing_but_itself_and_its_tables(tmp_path: Path) -> None:
    for name in ("900-level", "900-broken"):
        make_table(name, scale=Scale.QUICK, folder=tmp_path)
    path = write(findings(scale=Scale.QUICK, folder=tmp_path), scale=Scale.QUICK, folder=tmp_path)
    outline = Outline(path.read_text(encoding="utf-8"))
    assert outline.open == []
    assert len(set(outline.ids)) == len(outline.ids)
    for link in outline.links:
        assert link[1:] in outline.ids if link.startswith("#") else (path.parent / link).exists()


def test_each_claim_shows_its_verdict_what_was_measured_and_why(tmp_path: Path) -> None:
    for name in ("900-level", "900-broken"):
        make_table(name, scale=Scale.QUICK, folder=tmp_path)
    (found,) = findings(scale=Scale.QUICK, folder=tmp_path)
    assert [str(judged.verdict) for judged in found.judged] == [
        "confirmed",
        "not confirmed",
        "confirmed with a note",
    ]
    words = Outline(page([found], Scale.QUICK)).words
    for said in ("On levels & their <noise>", "The kernel's level is ten.", "Only where it does not fail.", "± "):
        assert said in words
    assert "headrace lab run 900-level --scale quick" in words
    assert "1 of 2 points could not be computed" in words


def test_what_is_not_measured_yet_names_its_command(tmp_path: Path) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path)
    (found,) = findings(scale=Scale.QUICK, folder=tmp_path)
    words = Outline(page([found], Scale.QUICK)).words
    assert "Not measured yet: headrace lab run 900-broken --scale quick" in words
    assert "there is no table of 900-broken yet" in words


def test_a_paper_of_which_nothing_is_measured_is_one_line(tmp_path: Path) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path)
    (found,) = findings(scale=Scale.QUICK, folder=tmp_path)
    words = Outline(page([replace(found, results={})], Scale.QUICK)).words
    assert "Not measured yet: headrace lab run 900 --scale quick" in words
    assert "The level is about ten." not in words


def test_without_any_table_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(Gone, match="headrace lab run all --scale quick"):
        findings(scale=Scale.QUICK, folder=tmp_path)


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    make_table("900-level", scale=Scale.QUICK, folder=tmp_path, stamp="0.0.1+00000000")
    with pytest.raises(Invalid, match=r"version 0\.0\.1\+00000000.*--fresh"):
        findings(scale=Scale.QUICK, folder=tmp_path)
