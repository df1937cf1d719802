import re
from pathlib import Path
from typing import Any

from headrace.lab.papers import Paper, Scale

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "lab.md"


def test_the_guides_example_is_a_sound_paper() -> None:
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "PAPER" in block)
    made: dict[str, Any] = {}
    exec(code, made)
    paper = made["PAPER"]
    assert isinstance(paper, Paper)
    for scale in Scale:
        experiment = paper.figures[0].at(scale)
        assert experiment.name == "004-peeks"
        assert len(experiment.points) == 4
    assert all(experiment.planned(point) == 20 for point in experiment.points)
    assert paper.claims[0].experiments == ("004-peeks",)
