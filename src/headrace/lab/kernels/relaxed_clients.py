"""The clients of the relaxed kernel: each adds, looks at some nodes and takes, a step at a time.

A step is one round trip (peeks go out together), and between two steps of a client others take theirs: that is all
that concurrency is here. Every decision is a function of `protocols/designs/relaxed`; this module keeps what a
client remembers between its steps, and counts requests. Commits are not counted, as every design has them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headrace.lab.kernels.compiled import decision, inlined
from headrace.lab.kernels.ranks import Ranks, below, insert, remove
from headrace.lab.kernels.relaxed_nodes import Nodes, ahead, pop, push
from headrace.lab.kernels.stream import Stream, uniform
from headrace.protocols.designs import relaxed
from headrace.protocols.designs.relaxed import EMPTY

PLACES = ("round-robin", "random", "fewest", "peek-fewest-ahead", "peek-best-top", "peek-worst-top")
ROUND_ROBIN, RANDOM, FEWEST, PEEK_FEWEST_AHEAD, PEEK_BEST_TOP, PEEK_WORST_TOP = range(6)
POLICIES = ("best", "top-two", "top-two-scan", "conditional", "conditional-blind", "hide", "lock", "retry")
BEST, TOP_TWO, TOP_TWO_SCAN, CONDITIONAL, CONDITIONAL_BLIND, HIDE, LOCK, RETRY = range(8)

ADD, LOOK, TAKE, SECOND, GIVE_BACK, REST, STOPPED = range(7)
"""What a client does in its next step."""

NOBODY = -1

draw_distinct = decision(relaxed.draw_distinct)
draw_any = decision(relaxed.draw_any)
next_in_turn = decision(relaxed.next_in_turn)
fewer = decision(relaxed.fewer)
least = decision(relaxed.least)
most = decision(relaxed.most)
runner_up = decision(relaxed.runner_up)
runner_up_of_scan = decision(relaxed.runner_up_of_scan)
shares = decision(relaxed.shares)
settles = decision(relaxed.settles)


class Rules(NamedTuple):
    """What all clients go by."""

    nodes: int
    peeks: int
    add_peeks: int
    place: int
    policy: int
    distinct: bool
    batch: int
    first_step: int  # ADD, or LOOK in a drain
    warmup: int


class Book(NamedTuple):
    """What is observed: the rank error of each measured pop, and how often each popped item was overtaken."""

    live: Ranks
    gone: Ranks
    gone_before: NDArray[np.int32]  # for each key, how many greater ones were popped before it was added
    histogram: NDArray[np.int64]
    added: NDArray[np.int64]  # [how many]
    popped: NDArray[np.int64]  # [how many]
    requests: NDArray[np.int64]  # [how many since the warm-up]
    overtaken: NDArray[np.int64]  # [how often, all measured items together]


class Scene(NamedTuple):
    """Everything a run touches. Row c of an array belongs to client c."""

    rules: Rules
    queue: Nodes
    book: Book
    keys: NDArray[np.int32]  # in the order in which they are added
    stream: Stream
    step: NDArray[np.int8]
    chosen: NDArray[np.int32]  # the nodes looked at
    seen: NDArray[np.int32]  # their tops then, or their `batch` best keys
    held: NDArray[np.int32]  # a key popped and not accepted, or EMPTY
    held_from: NDArray[np.int32]
    last: NDArray[np.int32]  # the node that got the last item
    inserts: NDArray[np.int32]  # items ever added, by node
    locked_by: NDArray[np.int32]  # by node
    order: NDArray[np.int64]  # a permutation of all nodes, to draw from
    draws: NDArray[np.float64]
    drawn: NDArray[np.int32]
    values: NDArray[np.int32]


@inlined
def advance(scene: Scene, client: int, backlog: int) -> None:
    """Take one step of this client: ADD and LOOK lead on, and it comes to REST when it has its item."""
    step = scene.step[client]
    if step == ADD:
        _add(scene, client, backlog)
    elif step in (LOOK, GIVE_BACK):
        if step == GIVE_BACK:
            _give_back(scene, client)
        _look(scene, client)
    else:
        # Unless the policy says otherwise, a step that pops nothing leads to another look.
        scene.step[client] = LOOK
        if _take(scene, client, step):
            scene.step[client] = REST


@inlined
def _add(scene: Scene, client: int, backlog: int) -> None:
    """Add a batch; while the queue is filled, an item."""
    book = scene.book
    filling = book.added[0] < backlog
    for _ in range(1 if filling else scene.rules.batch):
        key = scene.keys[book.added[0]]
        node = _place(scene, client, key)
        push(scene.queue, node, key)
        insert(book.live, key)
        book.gone_before[key] = book.popped[0] - below(book.gone, key)
        book.added[0] += 1
    if filling:
        book.requests[0] = 0
    scene.step[client] = REST if filling else LOOK


@inlined
def _place(scene: Scene, client: int, key: int) -> int:
    rules, queue, stream = scene.rules, scene.queue, scene.stream
    if rules.place == RANDOM:
        return int(uniform(stream) * rules.nodes)
    if rules.place == ROUND_ROBIN:
        node = next_in_turn(scene.last[client], rules.nodes)
        scene.last[client] = node
        return node
    if rules.place == FEWEST:
        _draw(scene, min(2, rules.nodes))
        node = fewer(scene.drawn[0], scene.drawn[min(2, rules.nodes) - 1], scene.inserts)
        scene.inserts[node] += 1
        return node
    _draw(scene, rules.add_peeks)
    scene.book.requests[0] += rules.add_peeks
    for i in range(rules.add_peeks):
        node = scene.drawn[i]
        scene.values[i] = ahead(queue, node, key) if rules.place == PEEK_FEWEST_AHEAD else queue.tops[node]
    if rules.place == PEEK_WORST_TOP:
        return scene.drawn[most(scene.values, rules.add_peeks)]
    return scene.drawn[least(scene.values, rules.add_peeks)]


@inlined
def _draw(scene: Scene, count: int) -> None:
    """Draw nodes into `scene.drawn`."""
    for i in range(count):
        scene.draws[i] = uniform(scene.stream)
    if scene.rules.distinct:
        draw_distinct(scene.order, count, scene.draws)
        for i in range(count):
            scene.drawn[i] = scene.order[i]
    else:
        draw_any(scene.drawn, count, scene.rules.nodes, scene.draws)


@inlined
def _look(scene: Scene, client: int) -> None:
    """Peek, all nodes at once; go on to TAKE, look again when nothing can be had, or stop in a drain."""
    rules, book = scene.rules, scene.book
    _draw(scene, rules.peeks)
    for i in range(rules.peeks):
        scene.chosen[client, i] = scene.drawn[i]
    if rules.policy == LOCK and not _lock(scene, client):
        scene.step[client] = LOOK
        return
    # A pop that goes to the one node drawn has nothing to compare, so it asks nobody first.
    if rules.peeks > 1 or rules.policy == RETRY:
        book.requests[0] += rules.peeks
    found = False
    for i in range(rules.peeks):
        found |= _see(scene, client, i)
    if not found and rules.policy == LOCK:
        _unlock(scene, client)
    elif not found and rules.first_step == ADD:
        found = _look_everywhere(scene, client)
    scene.step[client] = TAKE if found else (LOOK if rules.first_step == ADD else STOPPED)


@inlined
def _see(scene: Scene, client: int, i: int) -> bool:
    """Note what the i-th chosen node has to give; whether it has anything."""
    queue, batch = scene.queue, scene.rules.batch
    node, seen = scene.chosen[client, i], scene.seen[client]
    if scene.rules.policy == HIDE:
        seen[i] = pop(queue, node) if queue.tops[node] != EMPTY else EMPTY
        return bool(seen[i] != EMPTY)
    if batch == 1:
        seen[i] = queue.tops[node]
        return bool(seen[i] != EMPTY)
    count = min(batch, queue.sizes[node])
    for k in range(count):
        seen[i * batch + k] = pop(queue, node)
    for k in range(count):
        push(queue, node, seen[i * batch + k])
    seen[i * batch + count : (i + 1) * batch] = EMPTY
    return bool(count > 0)


@inlined
def _look_everywhere(scene: Scene, client: int) -> bool:
    """The nodes drawn are empty: before a client says so of the queue, it looks at all. Whether any is not."""
    scene.book.requests[0] += scene.rules.nodes
    scene.chosen[client, 0] = least(scene.queue.tops, scene.rules.nodes)
    return _see(scene, client, 0)


@inlined
def _lock(scene: Scene, client: int) -> bool:
    """Lock the chosen nodes one after the other; at the first refusal let go of all."""
    for i in range(scene.rules.peeks):
        owner = scene.locked_by[scene.chosen[client, i]]
        if owner != NOBODY and owner != client:
            scene.book.requests[0] += i + 1
            for earlier in range(i):
                scene.locked_by[scene.chosen[client, earlier]] = NOBODY
            return False
        scene.locked_by[scene.chosen[client, i]] = client
    return True


@inlined
def _unlock(scene: Scene, client: int) -> None:
    """Let go of all nodes; the one popped from is told by the pop."""
    scene.book.requests[0] += scene.rules.peeks - 1
    for i in range(scene.rules.peeks):
        scene.locked_by[scene.chosen[client, i]] = NOBODY


@inlined
def _take(scene: Scene, client: int, step: int) -> bool:
    """The policy's step; whether the client has its item."""
    policy = scene.rules.policy
    if scene.rules.batch > 1:
        return _take_batch(scene, client)
    if step == SECOND:
        return _take_second(scene, client)
    if policy in (TOP_TWO, TOP_TWO_SCAN):
        return _take_first(scene, client)
    if policy in (CONDITIONAL, CONDITIONAL_BLIND):
        return _take_if_still(scene, client)
    if policy == HIDE:
        return _take_hidden(scene, client)
    if policy == RETRY:
        return _take_or_give_back(scene, client)
    return _take_best(scene, client)


@inlined
def _take_best(scene: Scene, client: int) -> bool:
    """BEST and LOCK: pop the best node seen, whatever it has by now."""
    if scene.rules.policy == LOCK:
        _unlock(scene, client)
    return _pop(scene, scene.chosen[client, least(scene.seen[client], scene.rules.peeks)])


@inlined
def _runner_up(scene: Scene, client: int, best: int) -> int:
    if scene.rules.policy == TOP_TWO_SCAN:
        return runner_up_of_scan(scene.seen[client], scene.rules.peeks)
    return runner_up(scene.seen[client], scene.rules.peeks, best)


@inlined
def _take_first(scene: Scene, client: int) -> bool:
    """TOP_TWO (section 4.3, a and b): pop the best node; keep what comes if it is no worse than the second top."""
    seen, peeks = scene.seen[client], scene.rules.peeks
    best = least(seen, peeks)
    other = _runner_up(scene, client, best)
    alternative = seen[other] if other >= 0 else EMPTY
    node = scene.chosen[client, best]
    top = scene.queue.tops[node]
    scene.book.requests[0] += 1
    if top != EMPTY and settles(top, alternative):
        _accept(scene, pop(scene.queue, node))
        return True
    if top != EMPTY:
        scene.held[client] = pop(scene.queue, node)
        scene.held_from[client] = node
    if alternative != EMPTY:
        scene.step[client] = SECOND
    return False


@inlined
def _take_second(scene: Scene, client: int) -> bool:
    """TOP_TWO (section 4.3, c): give the first item back and pop the second node, whatever it has by now."""
    if scene.held[client] != EMPTY:
        _give_back(scene, client)
    best = least(scene.seen[client], scene.rules.peeks)
    return _pop(scene, scene.chosen[client, _runner_up(scene, client, best)])


@inlined
def _take_if_still(scene: Scene, client: int) -> bool:
    """CONDITIONAL: pop the best node only if its top is still no worse than the best alternative known.

    A refusal carries the fresh top, to be sorted in with the others; the blind form strikes the node off. Whoever
    has no alternative left takes what is there.
    """
    seen, peeks = scene.seen[client], scene.rules.peeks
    best = least(seen, peeks)
    other = runner_up(seen, peeks, best)
    alternative = seen[other] if other >= 0 else EMPTY
    node = scene.chosen[client, best]
    top = scene.queue.tops[node]
    scene.book.requests[0] += 1
    if top != EMPTY and settles(top, alternative):
        _accept(scene, pop(scene.queue, node))
        return True
    seen[best] = top if scene.rules.policy == CONDITIONAL else EMPTY
    if seen[least(seen, peeks)] != EMPTY:
        scene.step[client] = TAKE
    return False


@inlined
def _take_hidden(scene: Scene, client: int) -> bool:
    """HIDE: keep the best of the items hidden by the look, and show the others again."""
    seen = scene.seen[client]
    best = least(seen, scene.rules.peeks)
    scene.book.requests[0] += 1
    for i in range(scene.rules.peeks):
        if i != best and seen[i] != EMPTY:
            push(scene.queue, scene.chosen[client, i], seen[i])
            scene.book.requests[0] += 1
    _accept(scene, seen[best])
    return True


@inlined
def _take_or_give_back(scene: Scene, client: int) -> bool:
    """RETRY: pop the best node; what is worse than expected goes back, and the client looks again."""
    best = least(scene.seen[client], scene.rules.peeks)
    node = scene.chosen[client, best]
    scene.book.requests[0] += 1
    if scene.queue.tops[node] == EMPTY:
        return False
    key = pop(scene.queue, node)
    if settles(key, scene.seen[client, best]):
        _accept(scene, key)
        return True
    scene.held[client] = key
    scene.held_from[client] = node
    scene.step[client] = GIVE_BACK
    return False


@inlined
def _take_batch(scene: Scene, client: int) -> bool:
    """BEST in batches: of all keys seen the best, asked of each node as a number. They leave as one."""
    peeks, batch = scene.rules.peeks, scene.rules.batch
    wanted, basket = scene.drawn, scene.values
    shares(scene.seen[client], peeks, batch, wanted)
    count = 0
    for i in range(peeks):
        node = scene.chosen[client, i]
        scene.book.requests[0] += int(wanted[i] > 0)
        for _ in range(min(wanted[i], scene.queue.sizes[node])):
            basket[count] = pop(scene.queue, node)
            count += 1
    for i in range(count):
        remove(scene.book.live, basket[i])
    for i in range(count):
        _observe(scene, basket[i])
    return count > 0


@inlined
def _pop(scene: Scene, node: int) -> bool:
    """Pop `node` and keep what comes, if anything does."""
    scene.book.requests[0] += 1
    if scene.queue.tops[node] == EMPTY:
        return False
    _accept(scene, pop(scene.queue, node))
    return True


@inlined
def _give_back(scene: Scene, client: int) -> None:
    """Abort: the item held is queued again where it was."""
    push(scene.queue, scene.held_from[client], scene.held[client])
    scene.held[client] = EMPTY
    scene.book.requests[0] += 1


@inlined
def _accept(scene: Scene, key: int) -> None:
    """The client keeps this item. Those that others hold or hide are still queued: they can be given back."""
    remove(scene.book.live, key)
    _observe(scene, key)


@inlined
def _observe(scene: Scene, key: int) -> None:
    book = scene.book
    if book.popped[0] >= scene.rules.warmup:
        book.histogram[below(book.live, key)] += 1
        book.overtaken[0] += book.popped[0] - below(book.gone, key) - book.gone_before[key]
    insert(book.gone, key)
    book.popped[0] += 1
    if book.popped[0] == scene.rules.warmup:
        book.requests[0] = 0
