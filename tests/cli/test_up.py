"""`headrace up`: several nodes, each started again when it dies, all stopped together."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import headrace
from tests.cli.conftest import Headrace


def _event(process: "subprocess.Popen[str]", wanted: str) -> Any:
    """The next event of a kind."""
    assert process.stdout is not None
    for line in process.stdout:
        event = json.loads(line)
        if event["event"] == wanted:
            return event
    raise AssertionError(f"it ended before {wanted!r}")


def test_a_node_that_is_killed_is_started_again_and_all_stop_together(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "headrace", "up", "--nodes", "2", "--at", tmp_path, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        nodes = {event["node"]: event for event in (_event(process, "up") for _ in range(2))}
        assert set(nodes) == {1, 2}
        with headrace.connect(nodes[1]["url"]) as hr:
            hr.add("q", b"kept")
        os.kill(nodes[1]["pid"], signal.SIGKILL)
        assert _event(process, "died")["node"] == 1
        again = _event(process, "up")
        with headrace.connect(again["url"]) as hr:
            assert hr.peek("q")[0].body == b"kept"
        process.send_signal(signal.SIGTERM)
        assert {_event(process, "stopped")["node"] for _ in range(2)} == {1, 2}
        assert process.wait() == 0
    finally:
        process.terminate()
        process.communicate()


def test_a_node_that_cannot_start_ends_it_all(headrace: Headrace, tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "headrace", "up", "--at", tmp_path, "--port", "0", "--", "--host", "192.0.2.1"],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 1
    assert "listening on 192.0.2.1 opens this node to other machines" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_ports_beyond_the_last_are_refused(headrace: Headrace) -> None:
    ran = headrace("up --nodes 3 --port 65534")
    assert (ran.code, "3 nodes from port 65534 on go beyond 65535" in ran.err) == (2, True)
