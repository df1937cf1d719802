"""The store with one safeguard taken away each, for tests to show that its loss is noticed. Nothing else uses these."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

from headrace.core.ports import File
from headrace.sim.disk import SimDisk
from headrace.store import frame
from headrace.store.chain import Chain
from headrace.store.log import FileLog, SyncToken
from headrace.store.recovery import Recovery
from headrace.store.snapshot import SnapshotWriter


class UnsyncedLog(FileLog):
    """Acknowledges before the sync: says that all is safe without having synced anything."""

    def begin_sync(self) -> SyncToken:
        token = super().begin_sync()
        token.rolled, token.last = [], None
        return token


class UnsyncedLogRecovery(Recovery):
    """Recovers into a log that acknowledges before the sync."""

    log_class = UnsyncedLog


class LenientRecovery(Recovery):
    """Cuts damage as if it were the unsynced tail."""

    def _damage(self, chain: Chain) -> list[tuple[int | None, str]]:
        return []


class ReusingRecovery(Recovery):
    """Goes on in the segment that was cut, over what was there: a stale frame may revive."""

    def _seal(self, file: File, offset: int) -> File | None:
        file.sync()
        return file


class NamelessDisk(SimDisk):
    """Skips the sync of the directory: a file may be gone with all that was synced into it."""

    def _keep_names(self) -> None:
        pass


class LossySnapshotWriter(SnapshotWriter):
    """Forgets every second part."""

    def put(self, part: bytes) -> None:
        self._puts = getattr(self, "_puts", 0) + 1
        if self._puts % 2:
            super().put(part)


@contextlib.contextmanager
def unseeded_checksums() -> Iterator[None]:
    """Checksums that say nothing of the place: a frame left over from another segment counts."""
    with mock.patch.object(frame, "seed_of", return_value=0):
        yield
