"""What the holder of an access token may do: scopes, each a kind of verb on a pattern of queues."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

import msgspec

from headrace.core import commands as c
from headrace.core.errors import Forbidden, Invalid

SCOPES: Final = ("add", "pop", "commit", "admin")
"""`pop` includes looking, `commit` settling in any way; `admin` is everything."""

_SCOPE_OF: Final[dict[type, str]] = {
    c.Add: "add",
    c.Peek: "pop",
    c.Pop: "pop",
    c.Commit: "commit",
    c.Abort: "commit",
    c.Extend: "commit",
}


class Scope(msgspec.Struct, frozen=True):
    """One kind of verb on the queues that match a pattern, such as `pop:thumbs-*`."""

    verb: str
    pattern: str = "*"

    @classmethod
    def parse(cls, text: str) -> Scope:
        verb, _, pattern = text.partition(":")
        if verb not in SCOPES or (not pattern and ":" in text):
            raise Invalid(
                f"{text!r} is not a scope: use one of {', '.join(SCOPES)}, with a pattern of queues if not for all, "
                "such as pop:thumbs-*"
            )
        return cls(verb, pattern or "*")

    def __str__(self) -> str:
        return self.verb if self.pattern == "*" else f"{self.verb}:{self.pattern}"


class Access(msgspec.Struct, frozen=True):
    """What one token allows."""

    scopes: list[Scope]

    @property
    def is_full(self) -> bool:
        """Whether it allows everything."""
        return Scope("admin") in self.scopes

    def allows(self, verb: str, queue: str) -> bool:
        return any(scope.verb in (verb, "admin") and fnmatchcase(queue, scope.pattern) for scope in self.scopes)

    def check(self, command: c.AnyCommand) -> None:
        """`Forbidden` when the command is not allowed."""
        verb = _SCOPE_OF.get(type(command), "admin")
        if isinstance(command, c.OpenSession | c.EndSession | c.Resume):
            return
        queues = command.queues if isinstance(command, c.Pop) else [getattr(command, "queue", "")]
        needed = [(verb, queue) for queue in queues]
        if isinstance(command, c.Commit):
            needed += [("add", queue) for queue, _ in command.added]
        for verb, queue in needed:
            if not self.allows(verb, queue):
                on = f" on queue {queue!r}" if queue else ""
                raise Forbidden(f"this access token does not allow {verb}{on}: it allows {self._shown()}")

    def _shown(self) -> str:
        return ", ".join(map(str, self.scopes)) or "nothing"


FULL: Final = Access([Scope("admin")])
