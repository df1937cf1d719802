"""The relaxed queue as a slow, plain program: clients are generators, nodes sorted lists, ranks counted by bisection.

Written apart from the kernel, and sharing nothing with it but the meaning of the options; a client yields after
each round trip. The kernel must be equal to it in distribution, and is measured against it.
"""

from __future__ import annotations

import random
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from typing import Any

NOTHING = float("inf")


class Plain:
    """One run; `ranks`, `overtaken` and `requests` are those after the warm-up."""

    def __init__(self, options: dict[str, Any], seed: int) -> None:
        self.o = options
        self.rng = random.Random(seed)
        self.nodes: list[list[float]] = [[] for _ in range(options["nodes"])]
        self.hidden: list[float] = []
        self.live: list[float] = []
        self.popped: list[float] = []
        self.before: dict[float, int] = {}
        self.locked: dict[int, int] = {}
        self.turn = {c: self.rng.randrange(options["nodes"]) for c in range(options["concurrency"])}
        self.inserts = [0] * options["nodes"]
        self.count = 0
        self.ranks: list[int] = []
        self.overtaken = 0
        self.requests = 0

    def run(self) -> Plain:
        crowd = self.o["concurrency"]
        for i in range(self.o["backlog"]):
            self.add(i % crowd)
        self.requests = 0
        if self.o["interleave"] == "lockstep":
            self.lockstep(crowd)
        else:
            clients = [self.client(c) for c in range(crowd)]
            while not self.over:
                next(self.rng.choice(clients))
        return self

    def lockstep(self, crowd: int) -> None:
        while not self.over:
            clients = [self.client(c) for c in range(crowd)]
            for _step in range(2):  # all add, then all look
                for client in clients:
                    next(client)
            while clients and not self.over:
                clients = [client for client in clients if not self.to_the_end(client)]

    def to_the_end(self, client: Iterator[str]) -> bool:
        """A turn: until the client has its item, or has to look again."""
        while not self.over:
            told = next(client)
            if told != "taking":
                return told == "done"
        return True

    @property
    def over(self) -> bool:
        return len(self.popped) >= self.o["warmup"] + self.o["pops"]

    def draw(self, count: int) -> list[int]:
        if self.o["draw"] == "distinct":
            return self.rng.sample(range(self.o["nodes"]), count)
        return [self.rng.randrange(self.o["nodes"]) for _ in range(count)]

    def top(self, node: int) -> float:
        return self.nodes[node][0] if self.nodes[node] else NOTHING

    def add(self, client: int) -> None:
        self.count += 1
        key = float(self.count) if self.o["keys"] == "growing" else self.rng.random()
        insort(self.nodes[self.place(client, key)], key)
        insort(self.live, key)
        self.before[key] = len(self.popped) - bisect_right(self.popped, key)

    def place(self, client: int, key: float) -> int:
        place = self.o["place"]
        if place == "random":
            return self.rng.randrange(self.o["nodes"])
        if place == "round-robin":
            self.turn[client] = (self.turn[client] + 1) % self.o["nodes"]
            return self.turn[client]
        if place == "fewest":
            node = min(self.draw(2), key=lambda node: self.inserts[node])
            self.inserts[node] += 1
            return node
        nodes = self.draw(self.o["add_peeks"])
        self.requests += len(nodes)
        if place == "peek-fewest-ahead":
            return min(nodes, key=lambda node: bisect_left(self.nodes[node], key))
        return (min if place == "peek-best-top" else max)(nodes, key=self.top)

    def client(self, me: int) -> Iterator[str]:
        while True:
            self.add(me)
            yield "added"
            taken = False
            while not taken:
                nodes = yield from self.look(me)
                taken = yield from getattr(self, self.o["policy"].replace("-", "_").replace("_scan", ""))(nodes)
            yield "done"

    def look(self, me: int) -> Iterator[str]:
        while True:
            nodes = self.draw(self.o["peeks"])
            if self.o["policy"] == "lock":
                refused = next((i for i, node in enumerate(nodes) if self.locked.get(node, me) != me), None)
                if refused is not None:
                    self.requests += refused + 1
                    yield "looked"
                    continue
                self.locked.update(dict.fromkeys(nodes, me))
            self.requests += len(nodes) if len(nodes) > 1 or self.o["policy"] == "retry" else 0
            seen = [[self.peek(node), node] for node in nodes]
            yield "looked"
            return seen

    def peek(self, node: int) -> float:
        if self.o["policy"] == "hide":
            return self.nodes[node].pop(0)
        return self.top(node)

    def pop(self, node: int) -> float:
        self.requests += 1
        return self.nodes[node].pop(0)

    def accept(self, key: float) -> None:
        self.live.remove(key)
        if len(self.popped) >= self.o["warmup"]:
            self.ranks.append(bisect_left(self.live, key))
            self.overtaken += len(self.popped) - bisect_right(self.popped, key) - self.before[key]
        insort(self.popped, key)
        if len(self.popped) == self.o["warmup"]:
            self.requests = 0

    # The policies. A yield is the time until the next round trip; "taking" keeps the turn.

    def best(self, seen: list[Any]) -> Iterator[str]:
        self.accept(self.pop(min(seen)[1]))
        return True
        yield

    def lock(self, seen: list[Any]) -> Iterator[str]:
        self.requests += len(seen) - 1
        for _, node in seen:
            self.locked.pop(node, None)
        return (yield from self.best(seen))

    def top_two(self, seen: list[Any]) -> Iterator[str]:
        if self.o["policy"] == "top-two":
            first, second = sorted(seen, key=lambda peek: peek[0])[:2]
        else:
            first, second = seen[0], [NOTHING, None]
            for peek in seen[1:]:
                if peek[0] < first[0]:
                    first = peek
                elif peek[0] < second[0]:
                    second = peek
        key = self.pop(first[1])
        if key > second[0]:
            yield "taking"
            insort(self.nodes[first[1]], key)
            self.requests += 1
            key = self.pop(second[1])
        self.accept(key)
        return True

    def conditional(self, seen: list[Any]) -> Iterator[str]:
        while True:
            seen.sort(key=lambda peek: peek[0])
            _, node = seen[0]
            self.requests += 1
            if len(seen) == 1 or self.top(node) <= seen[1][0]:
                self.accept(self.nodes[node].pop(0))
                return True
            if self.o["policy"] == "conditional":
                seen[0][0] = self.top(node)
            else:
                del seen[0]
            yield "taking"

    conditional_blind = conditional

    def hide(self, seen: list[Any]) -> Iterator[str]:
        best = min(seen)
        self.requests += len(seen)
        for key, node in seen:
            if key != best[0]:
                insort(self.nodes[node], key)
        self.accept(best[0])
        return True
        yield

    def retry(self, seen: list[Any]) -> Iterator[str]:
        expected, node = min(seen)
        key = self.pop(node)
        if key <= expected:
            self.accept(key)
            return True
        yield "looked"
        insort(self.nodes[node], key)
        self.requests += 1
        return False
