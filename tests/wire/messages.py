"""One of each message, for golden bytes: what is said to a node, and what it says."""

from __future__ import annotations

from headrace.core import commands as c
from headrace.core.errors import PeerViolation
from headrace.core.limits import Limits, QueueSettings
from headrace.core.messages import VERSION, Answer, Answers, Call, Calls, FromClient, FromNode, Hello, Welcome
from headrace.protocols.door import goodbye

ID = bytes(range(16))
ITEM = bytes.fromhex("8000000000000003") + ID + b"\0cat.png"
ENTRY = ITEM[:8] + (7).to_bytes(8, "big") + (1_800_000_000_000_000).to_bytes(8, "big") + ITEM[8:]

COMMANDS: tuple[c.AnyCommand, ...] = (
    c.Add("q", [ITEM], 5),
    c.Peek("q", 3),
    c.Pop(["q"], 2, -1, stream=True),
    c.Pop(["q", "r"], 1, 0, 7, -1, "n", detached=True),
    c.Commit("q", 9, [1, 2], [("r", [ITEM])]),
    c.Abort("q", 9, [1], 5, "why", dead=True),
    c.Extend("q", 9, [1], 60),
    c.ListDead("q"),
    c.Revive("q", [ID]),
    c.Purge("q", queued=True, dead=True),
    c.Declare("q", {"paused": True}),
    c.Drop("q"),
    c.ListQueues(),
    c.Describe("q"),
    c.Why(ID),
    c.EndSession(crashed=True),
    c.OpenSession(),
    c.Resume([(9, [1, 2])]),
)

STATS = c.QueueStats(
    queue="q", queued=1, delayed=2, held=3, leased=4, dead=5, bytes=6, oldest_us=7, added=8, committed=9, expired=10,
    purged=11, moved_in=12, moved_out=13, quarantined=14, deduplicated=15, settings=QueueSettings(),
)  # fmt: skip

OUTCOMES: tuple[c.AnyOutcome, ...] = (
    c.AddDone([(0, ID)]),
    c.PopDone([c.Batch("q", 9, [1], [ENTRY], [1], 60_000_000)], None, more=True),
    c.PopDone([], 4),
    c.PeekDone([ENTRY]),
    c.Settled([(1, "gone")], [[(0, ID)]]),
    c.DeadDone([c.DeadItem(ENTRY, 5, "why", 3)]),
    c.CountDone(3),
    c.StatsDone([STATS]),
    c.Whereabouts("leased", "q", 3, 2, 5, 6, 7, [c.Attempt(1, 5, 6, "lease expired")]),
    c.Done(),
    c.Refused("Full", "queue 'q' is full"),
)

TO_NODE: tuple[FromClient, ...] = (
    Hello(VERSION, ID, is_new=True, token="secret"),
    *(Calls([Call(2, 1, 1, command)]) for command in COMMANDS),
    Calls([], [2]),
)

FROM_NODE: tuple[FromNode, ...] = (
    Welcome(VERSION, "hub", Limits()),
    goodbye(PeerViolation("hello was said twice")),
    *(Answers([Answer(2, outcome)]) for outcome in OUTCOMES),
)
