"""What machines say to each other, and how it is encoded.

A process is named by its address, a whole number. A *receipt* (epoch, counter) is that of the common node: it names one
hand-over of one item. Messages may be lost, late, doubled and overtaken: each says enough to be recognised.
"""

from __future__ import annotations

from typing import Final

import msgspec

DONE: Final = 0
"""The item was taken and worked off."""
HOLDING: Final = 1
"""The item is being worked on."""
DECLINED: Final = 2
"""The item came, and is not wanted (any more)."""
MISSING: Final = 3
"""No item has come under this receipt."""
FORGOTTEN: Final = 4
"""The item is for a request of an earlier life: what became of it is not known."""


PUT: Final = -1
"""In place of a request's number: the item goes to the hub, to be stored."""


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The root of all messages."""


class Probe(Message, frozen=True, tag="probe", array_like=True, gc=False):
    """A consumer's request number `number`, on probe number `hops` of `route` (from 1).

    The consumer draws the whole route before it asks: its draws do not depend on what the probes find, so this is the
    redraw from p_access at each producer, and no producer needs to know p_access. `seen` are the lines of waiting
    requests met, where a request waits at the shortest.
    """

    consumer: int
    number: int
    hops: int
    route: list[int]
    seen: list[int] = []


class Handed(Message, frozen=True, tag="handed", array_like=True, gc=False):
    """An item, for the receiver's request `number`."""

    number: int
    epoch: int
    counter: int
    entry: bytes


class Settled(Message, frozen=True, tag="settled", array_like=True, gc=False):
    """What became of what was handed over: by one of the words above."""

    epoch: int
    counter: int
    state: int


class Known(Message, frozen=True, tag="known", array_like=True, gc=False):
    """The sender of an item has heard that it is done: the receiver may forget it."""

    epoch: int
    counter: int


class Inquiry(Message, frozen=True, tag="inquiry", array_like=True, gc=False):
    """What became of what I handed you?"""

    epoch: int
    counter: int


class Ask(Message, frozen=True, tag="ask", array_like=True, gc=False):
    """A consumer's request to the hub."""

    number: int


class Inform(Message, frozen=True, tag="inform", array_like=True, gc=False):
    """The producer has one item more, its `serial`-th."""

    serial: int


class Room(Message, frozen=True, tag="room", array_like=True, gc=False):
    """An item that was put under this receipt has left the hub."""

    epoch: int
    counter: int


class Answer(Message, frozen=True, tag="answer", array_like=True, gc=False):
    """The hub's answer to a request: an item is at `producer`; the receipt is that of the reference."""

    number: int
    epoch: int
    counter: int
    producer: int


class Fetch(Message, frozen=True, tag="fetch", array_like=True, gc=False):
    """A consumer that was answered with a reference wants the item, for its request `number`."""

    number: int


class Notice(Message, frozen=True, tag="notice", array_like=True, gc=False):
    """The producer has `length` items, its `number`-th notice says."""

    number: int
    length: int


class Look(Message, frozen=True, tag="look", array_like=True, gc=False):
    """A consumer's request to a producer that its table names, after so many misses."""

    number: int
    misses: int


class Miss(Message, frozen=True, tag="miss", array_like=True, gc=False):
    """There is nothing here as of notice `notice`, says who was asked by this request after so many misses."""

    number: int
    misses: int
    notice: int


class Submit(Message, frozen=True, tag="submit", array_like=True, gc=False):
    """A user's item comes to its site."""

    item_id: bytes
    body: bytes


class Advert(Message, frozen=True, tag="advert", array_like=True, gc=False):
    """A site's state, the `number`-th time it tells it (002, section II).

    `state` is its refusal 1 - P, or its backlog; `beyond` the chance that it and all its neighbours but the receiver
    refuse, or its cheapest way on that is not through the receiver; `received` how many items it took from there.
    """

    number: int
    state: float
    beyond: float
    received: int


class Unlink(Message, frozen=True, tag="unlink", array_like=True, gc=False):
    """The sender has withdrawn its link with the receiver."""


AnyMessage = (
    Probe
    | Handed
    | Settled
    | Known
    | Inquiry
    | Ask
    | Inform
    | Room
    | Answer
    | Fetch
    | Notice
    | Look
    | Miss
    | Submit
    | Advert
    | Unlink
)

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(AnyMessage).decode
