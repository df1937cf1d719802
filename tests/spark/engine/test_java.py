import os
import subprocess
from pathlib import Path

import pytest

from headrace.spark.engine.java import java_home


def hide_java(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No java on the PATH, and a cache of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def old_java(folder: Path, version: str) -> None:
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


def test_without_java_the_wheels_own_runs_and_drops_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hide_java(monkeypatch, tmp_path)
    home = java_home()
    assert home is not None
    assert home.is_relative_to(tmp_path / "cache")
    command = [home / "bin" / "java", "--add-modules=jdk.incubator.vector", "-Dtold=a b", "-XshowSettings", "-version"]
    said = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, text=True, check=True).stderr
    assert "told = a b" in said
    assert java_home() == home


@pytest.mark.parametrize(("version", "own"), [("17.0.2", True), ("21", True), ("11.0.1", False), ("1.8.0_392", False)])
def test_javas_from_17_up_serve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, own: bool) -> None:
    hide_java(monkeypatch, tmp_path)
    old_java(tmp_path, version)
    assert (java_home() is None) is own


def test_java_home_goes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hide_java(monkeypatch, tmp_path)
    old_java(tmp_path, "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing-there"))
    assert java_home() is not None
