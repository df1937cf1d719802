"""The pages: their programs run as they stand, and their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROGRAMS = [
    pytest.param(program, id=f"{page}:{number}")
    for page in ("README.md", "docs/guides/embedded.md")
    for number, program in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_as_it_stands(program: str, tmp_path: Path) -> None:
    code = program if "import headrace" in program else f"import headrace\n{program}"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []
