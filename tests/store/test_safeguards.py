"""The store keeps its promises through many deaths; and without any one safeguard it does not."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable

import pytest

from tests.store import weakened
from tests.store.lives import Lives, Violation

SEEDS = range(400)


def law_broken(live: Callable[[int], Lives]) -> str:
    """The first law that any seed breaks."""
    for seed in SEEDS:
        try:
            live(seed).run()
        except Violation as violation:
            return str(violation).partition(":")[0]
    return "none"


def test_through_many_deaths_nothing_safe_is_lost_and_nothing_else_appears() -> None:
    fired: Counter[str] = Counter()
    for seed in SEEDS:
        lives = Lives(seed)
        lives.run()
        fired += lives.disk.fired
    for fault in (
        "crash",
        "torn_write",
        "lost_write",
        "lost_name",
        "lost_size",
        "stale_blocks",
        "write_error",
        "short_write",
        "sync_error",
        "create_error",
        "disk_full",
    ):
        assert fired[fault], fault


@pytest.mark.parametrize(
    ("laws", "live"),
    [
        ({"lost", "damage"}, lambda seed: Lives(seed, recovery=weakened.UnsyncedLogRecovery)),
        ({"lost", "damage"}, lambda seed: Lives(seed, disk_class=weakened.NamelessDisk)),
        ({"lost"}, lambda seed: Lives(seed, recovery=weakened.LenientRecovery, flips=True)),
        ({"unexpected", "damage"}, lambda seed: Lives(seed, recovery=weakened.ReusingRecovery)),
        ({"unexpected"}, lambda seed: Lives(seed, writer=weakened.LossySnapshotWriter)),
    ],
    ids=["acknowledge before sync", "skip the directory sync", "cut damage", "revive a stale frame", "drop a part"],
)
def test_without_a_safeguard_its_law_is_broken(laws: set[str], live: Callable[[int], Lives]) -> None:
    assert law_broken(live) in laws


def test_without_seeded_checksums_stale_frames_are_taken_for_ours() -> None:
    with weakened.unseeded_checksums():
        assert law_broken(Lives) in {"damage", "unexpected"}


def test_one_seed_lives_the_same_lives() -> None:
    traces = []
    for _ in range(2):
        lives = Lives(7)
        with contextlib.suppress(Violation):
            lives.run()
        traces.append((lives.disk.points, lives.written, sorted(lives.disk.fired.items())))
    assert traces[0] == traces[1]
