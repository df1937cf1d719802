import re
import xml.etree.ElementTree as ET

from headrace.core.estimates import Estimate
from headrace.lab import style


def drawn(name: str) -> str:
    figure, (axis,) = style.picture(x="peeks", y="rank error, items")
    style.measured(axis, "measured", [(1, Estimate(3, 0.5)), (2, Estimate(2, None))])
    style.modelled(axis, "law", [1, 2], [3, 2], series=1)
    style.printed(axis, "printed", [1], [3.1])
    style.bars(axis, "share", [0, 1, 2], [0.5, 0.1], series=2)
    style.legend(figure, axis)
    return style.svg(figure, name)


def test_the_same_picture_is_the_same_text() -> None:
    assert drawn("a") == drawn("a")


def test_no_colour_is_left_that_the_page_cannot_change() -> None:
    text = drawn("a")
    for colour in re.findall(r"#[0-9a-f]{6}", text):
        assert f", {colour})" in text
        assert not re.search(rf"(?<!, ){colour}", text)


def test_words_stay_words_and_the_picture_takes_the_pages_width() -> None:
    root = ET.fromstring(drawn("a"))
    words = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"peeks", "rank error, items", "measured", "law", "printed"} <= words
    assert "width" not in root.attrib
    assert "viewBox" in root.attrib


def test_pictures_of_one_page_share_no_ids() -> None:
    def ids(text: str) -> set[str]:
        return set(re.findall(r'id="([^"]+)"', text))

    assert ids(drawn("a"))
    assert not ids(drawn("a")) & ids(drawn("b"))


def test_light_and_dark_name_the_same_colours() -> None:
    assert style.LIGHT.keys() == style.DARK.keys()


def test_series_differ_by_marker_as_well_as_by_colour() -> None:
    assert len(set(style.MARKERS)) == len(style.MARKERS) == len(style.SERIES) == len(style.DASHES)
