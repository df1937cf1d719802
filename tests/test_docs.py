"""The pages: their programs run as they stand, and their links lead somewhere."""

import re
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

import headrace
from headrace.server.rest import OPERATIONS
from tests.cli.node import node

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROGRAMS = [
    pytest.param(program, id=f"{page}:{number}")
    for page in (
        "README.md",
        "docs/guides/embedded.md",
        "docs/guides/served.md",
        "docs/guides/from-beanstalkd.md",
        "docs/guides/from-redis-lists.md",
        "docs/guides/from-postgres.md",
    )
    for number, program in enumerate(re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
]
SERVED = "headrace://localhost"
"""Where a program expects a node, and the test has one of its own."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_as_it_stands(program: str, tmp_path: Path) -> None:
    code = program if "import headrace" in program else f"import headrace\n{program}"
    with ExitStack() as stack:
        if SERVED in code:
            code = code.replace(SERVED, stack.enter_context(node(tmp_path / "served")).url)
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_the_commands_of_the_rest_guide_run_as_they_stand_and_show_every_operation(tmp_path: Path) -> None:
    page = (ROOT / "docs/guides/rest.md").read_text()
    assert [operation.name for operation in OPERATIONS if f"**{operation.name}**" not in page] == []
    commands = "".join(re.findall(r"^```bash\n(.*?)^```", page, re.M | re.S))
    with node(tmp_path / "served") as served:
        strict = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n'
        script = strict + commands.replace("http://127.0.0.1:7421", served.ready["rest_url"])
        ran = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "photo.png").read_bytes() == b"\x89PNG"


def test_the_metrics_to_alarm_on_are_there(tmp_path: Path) -> None:
    names = set(re.findall(r"`(headrace_\w+)`", (ROOT / "docs/guides/operating.md").read_text()))
    assert names
    with node(tmp_path) as served, headrace.connect(served.url) as hr:
        hr.add("q", b"")
        hr.pop("q")[0].abort()
        with urllib.request.urlopen(f"{served.ready['rest_url']}/metrics") as answer:
            told = set(re.findall(r"^(headrace_\w+)", answer.read().decode(), re.M))
    assert {name for name in names if not {name, f"{name}_bucket"} & told} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []
