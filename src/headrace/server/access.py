"""Who may come in: the access tokens of a node, hashed at rest.

The file holds a line a token: its name, the SHA-256 of its secret, its scopes. A token is 256 random bits, so a plain
hash is as good as a slow one. Comparison is in constant time. While no token was ever issued the doors are open, which
the server only allows on loopback; once the last is revoked they are closed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from typing import Final

import msgspec

from headrace.core.access import FULL, Access, Scope
from headrace.core.errors import Damaged, Forbidden, Invalid

FILE_NAME: Final = "access.json"
PREFIX: Final = "hr_"


class Issued(msgspec.Struct, frozen=True):
    """One token, without its secret."""

    name: str
    sha256: str
    scopes: list[str]


class Tokens:
    """The tokens in a directory; read again when the file has changed, so that a revocation holds at once."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, FILE_NAME)
        self._stamp: tuple[int, int, int] | None = None
        """What the file looked like when it was read; None while there is none."""
        self._issued: list[Issued] = []
        self._refresh()

    def __len__(self) -> int:
        self._refresh()
        return len(self._issued)

    def __iter__(self) -> Iterator[Issued]:
        self._refresh()
        return iter(list(self._issued))

    def access_of(self, token: str) -> Access:
        """What a token allows; `Forbidden` when it is not known."""
        self._refresh()
        if self._stamp is None:
            return FULL
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = None
        for issued in self._issued:  # all of them, whether found or not
            if hmac.compare_digest(issued.sha256, digest):
                found = issued
        if found is None:
            raise Forbidden(
                "this access token is not known here, or was revoked: ask for one made by `headrace access issue`"
                if token
                else "this node wants an access token: give one that `headrace access issue` made"
            )
        return Access([Scope.parse(scope) for scope in found.scopes])

    def issue(self, name: str, scopes: list[str]) -> str:
        """Make a token; the secret, which is shown once and kept nowhere."""
        token = PREFIX + secrets.token_urlsafe(32)
        parsed = [str(Scope.parse(scope)) for scope in scopes]
        digest = hashlib.sha256(token.encode()).hexdigest()
        with self._changed_alone():
            if not name or any(issued.name == name for issued in self):
                raise Invalid(f"there is a token {name!r} already: revoke it first, or choose another name")
            self._write([*self._issued, Issued(name, digest, parsed)])
        return token

    def revoke(self, name: str) -> None:
        """Make a token worthless."""
        with self._changed_alone():
            if not any(issued.name == name for issued in self):
                raise Invalid(f"there is no token {name!r}: `headrace access list` shows them")
            self._write([issued for issued in self._issued if issued.name != name])

    def stamp(self) -> tuple[int, int, int] | None:
        """What changes whenever a token is issued or revoked."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _refresh(self) -> None:
        stamp = self.stamp()
        if stamp is None:
            self._stamp, self._issued = None, []
        elif stamp != self._stamp:
            with open(self._path, "rb") as file:
                try:
                    self._issued = msgspec.json.decode(file.read(), type=list[Issued])
                except msgspec.DecodeError as error:
                    raise Damaged(
                        f"{self._path} cannot be read: {error}; mend it, or remove it and issue anew"
                    ) from error
            self._stamp = stamp

    @contextlib.contextmanager
    def _changed_alone(self) -> Iterator[None]:
        """No other process changes the tokens meanwhile: what it revoked must not come back."""
        directory = os.open(os.path.dirname(self._path) or ".", os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)

    def _write(self, issued: list[Issued]) -> None:
        data = json.dumps([msgspec.structs.asdict(one) for one in issued], indent=1).encode() + b"\n"
        descriptor, aside = tempfile.mkstemp(dir=os.path.dirname(self._path), prefix=FILE_NAME)  # made 0600
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        self._refresh()
