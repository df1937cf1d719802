"""A directory of this machine's file system, as the `Disk` port.

Files made with a size are preallocated. Where the file system reserves what it preallocates and writes in place, they
are written through a memory map: a store into it takes a hundredth of a `pwrite`, survives the death of the process
as well, and cannot meet a full disk (which would be a SIGBUS). Elsewhere they are filled with zeros and written with
`pwrite`. See `docs/decisions/memory-mapped-log.md`.

Names are those in one directory; anything that is no regular file is not listed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import stat
from collections.abc import Iterator

from headrace.core.errors import Unavailable
from headrace.core.ports import DiskFailed, DiskFull

MAPPABLE = frozenset({"ext2", "ext3", "ext4", "xfs", "tmpfs"})
"""File systems that reserve what `posix_fallocate` asks for and write in place: a map never meets a full disk."""

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_ZEROS = bytes(1 << 20)


class SystemFile:
    """The `File` port over a descriptor."""

    def __init__(self, path: str, descriptor: int, *, is_mappable: bool) -> None:
        self._path = path
        self._descriptor = descriptor
        self._is_mappable = is_mappable
        self._map: mmap.mmap | None = None
        self._mapped_bytes = 0
        self.size_bytes = os.fstat(descriptor).st_size

    def read(self, offset: int, length: int) -> bytes:
        with _errors(self._path, "read"):
            data = os.pread(self._descriptor, length, offset)
            if len(data) == length or not data:
                return data
            parts = [data]
            while length > (got := sum(map(len, parts))):
                data = os.pread(self._descriptor, length - got, offset + got)
                if not data:
                    break
                parts.append(data)
            return b"".join(parts)

    def write(self, offset: int, data: bytes) -> None:
        end = offset + len(data)
        if end <= self._mapped_bytes:
            self._map[offset:end] = data  # type: ignore[index]  # mapped, since there are mapped bytes
        elif self._is_mappable and self._map is None and end <= self.size_bytes:
            self._map_in()
            self.write(offset, data)
        else:
            self._write_through(offset, data)

    def sync(self) -> None:
        with _errors(self._path, "sync"):
            _sync_data(self._descriptor)

    def truncate(self, size_bytes: int) -> None:
        self._unmap()
        with _errors(self._path, "truncate"):
            os.ftruncate(self._descriptor, size_bytes)
        self.size_bytes = size_bytes

    def close(self) -> None:
        self._unmap()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _map_in(self) -> None:
        """Map the file, once room is reserved for all of it: it may have been copied with holes."""
        with _errors(self._path, "preallocate"):
            os.posix_fallocate(self._descriptor, 0, self.size_bytes)
            self._map = mmap.mmap(self._descriptor, self.size_bytes)
        self._mapped_bytes = self.size_bytes

    def _unmap(self) -> None:
        self._mapped_bytes = 0
        if self._map is not None:
            self._map.close()
            self._map = None

    def _write_through(self, offset: int, data: bytes) -> None:
        with _errors(self._path, "write"):
            view = memoryview(data)
            while view:
                written = os.pwrite(self._descriptor, view, offset)
                view = view[written:]
                offset += written
        self.size_bytes = max(self.size_bytes, offset)


class SystemDisk:
    """The `Disk` port over one directory."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._is_mappable = file_system_of(path) in MAPPABLE
        with _errors(path, "open"):
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)

    def names(self) -> list[str]:
        with _errors(self.path, "list"), os.scandir(self.path) as entries:
            return sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))

    def create(self, name: str, size_bytes: int) -> SystemFile:
        path = os.path.join(self.path, name)
        with _errors(path, "create"):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        try:
            with _errors(path, "preallocate"):
                self._fill(descriptor, size_bytes)
            return SystemFile(path, descriptor, is_mappable=self._is_mappable)
        except BaseException:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                os.unlink(path)
            raise

    def open(self, name: str) -> SystemFile:
        path = os.path.join(self.path, name)
        with _errors(path, "open"):
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        return SystemFile(path, descriptor, is_mappable=self._is_mappable)

    def rename(self, name: str, to: str) -> None:
        with _errors(os.path.join(self.path, name), "rename"):
            os.rename(os.path.join(self.path, name), os.path.join(self.path, to))

    def remove(self, name: str) -> None:
        path = os.path.join(self.path, name)
        with _errors(path, "remove"):
            os.unlink(path)

    def sync_names(self) -> None:
        with _errors(self.path, "sync"):
            os.fsync(self._descriptor)

    def free_bytes(self) -> int:
        with _errors(self.path, "ask for the free room of"):
            status = os.fstatvfs(self._descriptor)
        return status.f_bavail * status.f_frsize

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _fill(self, descriptor: int, size_bytes: int) -> None:
        if size_bytes == 0:
            return
        if self._is_mappable:
            os.posix_fallocate(descriptor, 0, size_bytes)
            return
        offset = 0
        while offset < size_bytes:
            offset += os.pwrite(descriptor, _ZEROS[: size_bytes - offset], offset)


def open_directory(path: str) -> SystemDisk:
    """The directory at `path`, made if it is not there; `Unavailable` says why it cannot be used."""
    try:
        os.makedirs(path, exist_ok=True)
        if not stat.S_ISDIR(os.stat(path).st_mode):  # pragma: no cover - makedirs raises before
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    except (OSError, ValueError) as error:
        raise Unavailable(f"the directory {path!r} cannot be made: {_reason(error)}; choose another") from error
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise Unavailable(f"the directory {path!r} cannot be written: give this user the right to, or choose another")
    return SystemDisk(path)


def file_system_of(path: str) -> str:
    """The type of the file system that holds `path`; empty when this machine does not say."""
    try:
        device = os.stat(path).st_dev
        with open("/proc/self/mountinfo") as mounts:
            wanted = f"{os.major(device)}:{os.minor(device)}"
            for line in mounts:
                fields = line.split()
                if fields[2] == wanted:
                    return fields[fields.index("-") + 1]
    except (OSError, ValueError):
        pass
    return ""


@contextlib.contextmanager
def _errors(path: str, verb: str) -> Iterator[None]:
    """Errors of the system as those of the port."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise DiskFull(f"there is no room to {verb} {path}: free some") from error
        raise DiskFailed(f"cannot {verb} {path}: {_reason(error)}") from error


def _sync_data(descriptor: int) -> None:
    if hasattr(fcntl, "F_FULLFSYNC"):  # macOS, whose fsync stops at the drive's own cache
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def _reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()
