"""What a machine asks of its driver, and what a driver needs of a machine."""

from __future__ import annotations

from typing import Protocol

from headrace.protocols.machines.messages import AnyMessage


class Orders:
    """Messages to send, in their order, and work to begin."""

    __slots__ = ("sends", "works")

    def __init__(self) -> None:
        self.sends: list[tuple[int, AnyMessage]] = []
        self.works: list[bytes] = []

    def send(self, to: int, message: AnyMessage) -> None:
        self.sends.append((to, message))

    def work(self, entry: bytes = b"") -> None:
        """Begin to work on an entry; without one, to make the next item, or (a consumer) to get ready to ask."""
        self.works.append(entry)


class Machine(Protocol):
    """One process of a design."""

    @property
    def wake_us(self) -> int | None:
        """When `on_wake` should be called at the latest."""

    def begin(self, now_us: int, orders: Orders) -> None:
        """The process is there, for the first time or again."""

    def handle(self, now_us: int, sender: int, message: AnyMessage, orders: Orders) -> None:
        """A message has arrived."""

    def on_worked(self, now_us: int, product: bytes, orders: Orders) -> None:
        """The work that was ordered is done; `product` is the item made, encoded, where one was to be made."""

    def on_wake(self, now_us: int, orders: Orders) -> None:
        """Time has passed."""
