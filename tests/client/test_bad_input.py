"""What a caller may get wrong: one sentence that names the offender, and the node goes on."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace import Headrace, Invalid, Item, Receipt

RECEIPT = "q/1f3c9a-2b"
Call = Callable[[Headrace], Any]

QUEUE_NAMES = [
    "", "../etc", "a/b", "a\0b", "q" * 300, "q" * 201, ".hidden", "-x", "a b", "a\n", "q\u200b",
    "\N{CYRILLIC SMALL LETTER A}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", b"q", None, 3, True, 1.5, ["q"],
]  # fmt: skip
NO_BODIES = ["text", None, 3, True, 1.5, ["x"], object()]
NO_PRIORITIES = [True, 1.0, float("nan"), 2**63, -(2**63) - 1, "1", None]
NO_SECONDS = [-1, True, float("nan"), float("inf"), 1e20, "3", dt.timedelta(seconds=3), 2**70]
NO_COUNTS = [0, -1, True, 1.0, "1", None, 10**7, 2**70]
NO_IDS = ["", "x", 3, b"x" * 16, None]
NO_RECEIPTS = [
    None, 3, "", "x", "q/zz-1", "q/-1-2", "q/1_0-2", "q/ 1-2", "../q/1-2", "q/1-" + "f" * 17,
    b"q/1-2", [], [None], {RECEIPT}, object(),
]  # fmt: skip
NO_TEXT = [3, None, b"x", True, "\ud800"]


def _ids(value: Any) -> str:
    return ascii(value)[:24]


def _refuses(hr: Headrace, call: Call, sentence: str) -> None:
    """The call is refused with the sentence, and the node is as it was."""
    before = hr.queues()
    with pytest.raises(Invalid, match=sentence):
        call(hr)
    assert hr.queues() == before


@pytest.mark.parametrize("name", QUEUE_NAMES, ids=_ids)
def test_a_queue_name_that_is_none(hr: Headrace, name: Any) -> None:
    calls: list[Call] = [
        lambda hr: hr.add(name, b"x"),
        lambda hr: hr.add_many(name, [b"x"]),
        lambda hr: hr.peek(name),
        lambda hr: hr.pop([name]),
        lambda hr: hr.dead(name),
        lambda hr: hr.revive(name),
        lambda hr: hr.purge(name),
        lambda hr: hr.declare(name),
        lambda hr: hr.pause(name),
        lambda hr: hr.drop(name),
        lambda hr: hr.stats(name),
        lambda hr: next(hr.take([name])),
        lambda hr: hr.commit(RECEIPT, add=[(name, b"x")]),
        lambda hr: Receipt(name, 1, 1),
    ]
    for call in calls:
        _refuses(hr, call, "cannot be a queue's name: use 1 to 200 ASCII letters")


def test_queue_names_at_the_edge_are_taken(hr: Headrace) -> None:
    for name in ("q" * 200, "0", "A.b-c_d"):
        hr.add(name, b"x")
        assert hr.stats(name).queued == 1


@pytest.mark.parametrize("queues", [[], (), None, 3, {"q"}, b"q", ["q", "q"]], ids=_ids)
def test_queues_that_are_no_list_of_names(hr: Headrace, queues: Any) -> None:
    _refuses(hr, lambda hr: hr.pop(queues), "queue")


@pytest.mark.parametrize("body", NO_BODIES, ids=_ids)
def test_a_body_that_is_no_bytes(hr: Headrace, body: Any) -> None:
    calls: list[Call] = [
        lambda hr: hr.add("q", body),
        lambda hr: hr.add("q", Item(body)),
        lambda hr: hr.add_many("q", [b"x", body]),
        lambda hr: hr.commit(RECEIPT, add=[("q", body)]),
    ]
    for call in calls:
        _refuses(hr, call, "a body is bytes, not")


def test_a_body_at_the_limit_and_over_it(hr: Headrace) -> None:
    hr.add("q", b"x" * (1 << 20))
    _refuses(hr, lambda hr: hr.add("q", b"x" * ((1 << 20) + 1)), "1,048,577 bytes, more than the limit of 1,048,576")


def test_a_batch_over_the_limit(hr: Headrace) -> None:
    _refuses(hr, lambda hr: hr.add_many("q", [b"x" * (1 << 20)] * 17), "add them in smaller batches")


@pytest.mark.parametrize("priority", NO_PRIORITIES, ids=_ids)
def test_a_priority_that_is_none(hr: Headrace, priority: Any) -> None:
    calls: list[Call] = [
        lambda hr: hr.add("q", b"x", priority=priority),
        lambda hr: hr.add("q", Item(b"x", priority=priority)),
        lambda hr: hr.add_many("q", [Item(b"x", priority=priority)]),
    ]
    if priority is not None:
        calls.append(lambda hr: hr.pop("q", at_least=priority))
    for call in calls:
        _refuses(hr, call, r"whole number from -2\*\*63 to 2\*\*63-1; it is")


def test_priorities_at_the_edge_are_taken(hr: Headrace) -> None:
    for priority in (2**63 - 1, -(2**63)):
        hr.add("q", b"x", priority=priority)
    assert [item.priority for item in hr.pop("q", 2, at_least=2**63 - 1)] == [-(2**63), 2**63 - 1]


@pytest.mark.parametrize("seconds", NO_SECONDS, ids=_ids)
def test_seconds_that_are_none(hr: Headrace, seconds: Any) -> None:
    calls: dict[str, Call] = {
        "delay": lambda hr: hr.add("q", b"x", delay=seconds),
        "expires": lambda hr: hr.add("q", b"x", expires=seconds),
        "wait": lambda hr: hr.pop("q", wait=seconds),
        "lease": lambda hr: hr.pop("q", lease=seconds),
        "seconds": lambda hr: hr.extend(RECEIPT, seconds),
    }
    for name, call in calls.items():
        _refuses(hr, call, f"{name} must be a number of seconds")
    _refuses(hr, lambda hr: hr.add("q", b"x", wait=seconds), "wait must be a number of seconds")
    _refuses(hr, lambda hr: hr.abort(RECEIPT, delay=seconds), "delay must be a number of seconds")
    if seconds != -1:  # a handicap is a head start too
        _refuses(hr, lambda hr: headrace.head_start(seconds), "a head start must be a number of seconds")


@pytest.mark.parametrize("count", NO_COUNTS, ids=_ids)
def test_a_count_that_is_none(hr: Headrace, count: Any) -> None:
    calls: list[Call] = [lambda hr: hr.pop("q", count), lambda hr: hr.peek("q", count), lambda hr: hr.dead("q", count)]
    for call in calls:
        _refuses(hr, call, "n must be a whole number from 1 to 1,000,000; it is")


@pytest.mark.parametrize("after", [-1, True, 1.0, "1"], ids=_ids)
def test_a_place_that_is_none(hr: Headrace, after: Any) -> None:
    _refuses(hr, lambda hr: hr.dead("q", after=after), "after is the place of a dead item")


@pytest.mark.parametrize("item_id", NO_IDS, ids=_ids)
def test_an_id_that_is_none(hr: Headrace, item_id: Any) -> None:
    hr.declare("q")
    calls: list[Call] = [
        lambda hr: hr.why(item_id),
        lambda hr: hr.revive("q", [item_id]),
        lambda hr: hr.purge("q", ids=[item_id]),
    ]
    if item_id is not None:
        calls.append(lambda hr: hr.add("q", b"x", id=item_id))
    for call in calls:
        _refuses(hr, call, "is not an item's id: ids are UUIDs")


@pytest.mark.parametrize("ids", [3, [], b"x"], ids=_ids)
def test_ids_that_are_no_list(hr: Headrace, ids: Any) -> None:
    hr.declare("q")
    _refuses(hr, lambda hr: hr.revive("q", ids), "id")
    _refuses(hr, lambda hr: hr.purge("q", ids=ids), "id")


@pytest.mark.parametrize("receipt", NO_RECEIPTS, ids=_ids)
def test_a_receipt_that_is_none(hr: Headrace, receipt: Any) -> None:
    calls: list[Call] = [
        lambda hr: hr.commit(receipt),
        lambda hr: hr.abort(receipt),
        lambda hr: hr.extend(receipt, 5),
    ]
    for call in calls:
        _refuses(hr, call, "is not a receipt|settle a lease, its receipt, or a list|no lease was given|queue's name")


@pytest.mark.parametrize("number", [-1, 2**63, True, 1.0, "a", None], ids=_ids)
def test_the_numbers_of_a_receipt(number: Any) -> None:
    with pytest.raises(Invalid, match="the epoch of a receipt"):
        Receipt("q", number, 1)
    with pytest.raises(Invalid, match="the counter of a receipt"):
        Receipt("q", 1, number)


@pytest.mark.parametrize("text", NO_TEXT, ids=_ids)
def test_text_that_is_none(hr: Headrace, text: Any) -> None:
    _refuses(hr, lambda hr: hr.abort(RECEIPT, reason=text), "reason")
    _refuses(hr, lambda hr: hr.add("q", b"x", headers={"lang": text}), "header")
    _refuses(hr, lambda hr: hr.add("q", b"x", headers={text: "en"}), "header")
    if text is not None:
        _refuses(hr, lambda hr: hr.pop("q", name=text), "the name of a pop")
        _refuses(hr, lambda hr: hr.add("q", b"x", key=text), "key")


def test_text_over_the_limits(hr: Headrace) -> None:
    _refuses(hr, lambda hr: hr.add("q", b"x", key="k" * 513), "the key has 513 bytes, more than the limit of 512")
    _refuses(hr, lambda hr: hr.add("q", b"x", headers={"a": "b" * 8192}), "8,193 bytes, more than the limit of 8,192")
    _refuses(hr, lambda hr: hr.pop("q", name="n" * 201), "the name of a pop")
    hr.add("q", b"x")
    (item,) = hr.pop("q")
    item.abort(reason="r" * 9999)
    assert len(hr.why(item.id).attempts[0].reason) == len("aborted: ") + 500


@pytest.mark.parametrize("headers", [[("a", "b")], "a", 3], ids=_ids)
def test_headers_that_are_no_mapping(hr: Headrace, headers: Any) -> None:
    _refuses(hr, lambda hr: hr.add("q", b"x", headers=headers), "headers are a mapping of strings to strings")


@pytest.mark.parametrize(
    "instant", [dt.datetime(2030, 1, 1), dt.date(2030, 1, 1), 3, "2030-01-01"], ids=["naive", "date", "int", "str"]
)
def test_an_instant_without_a_time_zone(hr: Headrace, instant: Any) -> None:
    _refuses(hr, lambda hr: hr.add("q", b"x", not_before=instant), "not_before is a datetime with a time zone")


def test_options_that_contradict_each_other(hr: Headrace) -> None:
    now = dt.datetime.now(dt.UTC)
    _refuses(hr, lambda hr: hr.add("q", b"x", delay=1, not_before=now), "either delay or not_before")
    _refuses(hr, lambda hr: hr.add("q", Item(b"x"), key="k"), "not both")
    _refuses(hr, lambda hr: hr.add("q", Item(b"x"), priority=3), "give the priority in the Item")
    _refuses(hr, lambda hr: hr.pop(["q", "r"], name="n"), "names one queue")
    _refuses(hr, lambda hr: hr.commit([RECEIPT, "r/1-1"], add=[("q", b"x")]), "leases of one queue")
    dead: Any = "no"
    _refuses(hr, lambda hr: hr.abort(RECEIPT, dead=dead), "dead is True or False")


@pytest.mark.parametrize("items", [None, 3, b"x", "x", Item(b"x")], ids=_ids)
def test_items_that_are_no_list(hr: Headrace, items: Any) -> None:
    _refuses(hr, lambda hr: hr.add_many("q", items), "add_many takes")


@pytest.mark.parametrize("add", [None, 3, "x", [b"x"], [("q",)], [["q", b"x"]]], ids=_ids)
def test_additions_that_are_no_pairs(hr: Headrace, add: Any) -> None:
    _refuses(hr, lambda hr: hr.commit(RECEIPT, add=add), r"add is a list of \(queue, item\) pairs")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"pausd": True}, "no setting 'pausd'. Did you mean 'paused'?"),
        ({"paused": 3}, "paused"),
        ({"lease_seconds": "x"}, "lease_seconds"),
        ({"lease_seconds": 0}, "lease_seconds"),
        ({"lease_seconds": float("nan")}, "lease_seconds"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": 1.5}, "max_attempts"),
        ({"max_attempts": 2**70}, "max_attempts"),
        ({"capacity_items": 0}, "capacity_items"),
        ({"capacity_bytes": "3"}, "capacity_bytes"),
        ({"key_count": None}, "key_count"),
    ],
    ids=_ids,
)
def test_settings_that_make_no_sense(hr: Headrace, settings: dict[str, Any], sentence: str) -> None:
    _refuses(hr, lambda hr: hr.declare("q", **settings), sentence)


def test_nothing_of_this_reaches_the_log_of_a_node_on_files(kept: Headrace) -> None:
    """What cannot be encoded is refused before it is decided on: in the node it would be a fault, for all callers."""
    kept.add_many("q", [b"a", b"b"])
    item, other = kept.pop("q", 2)
    for call in (
        lambda: item.abort(reason="\ud800"),
        lambda: kept.pop("q", name="\ud800"),
        lambda: kept.declare("q", max_attempts=2**70),
        lambda: kept.commit([item, Receipt("q", 1, 2**80)]),
        lambda: item.extend(1e19),
    ):
        with pytest.raises(Invalid):
            call()
    kept.commit([item, other])


@pytest.mark.parametrize("path", ["", "a\0b", None, 3, True, ["x"]], ids=_ids)
def test_a_path_that_is_none(path: Any) -> None:
    with pytest.raises(Invalid, match="path"):
        headrace.open(path)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/null/x", "/proc/nothing"])
def test_a_directory_that_cannot_be_made(path: str) -> None:
    with pytest.raises(headrace.Unavailable, match=f"the directory '{path}' cannot be made: .*; choose another"):
        headrace.open(path)


@pytest.mark.parametrize("durability", ["FSYNC", "replicated", None, 3, "memory"], ids=_ids)
def test_a_durability_that_is_none(tmp_path: Path, durability: Any) -> None:
    with pytest.raises(Invalid, match="durability"):
        headrace.open(tmp_path, durability=durability)
    assert list(tmp_path.iterdir()) == []


def test_limits_that_are_none() -> None:
    limits: Any = {"body_bytes": 3}
    with pytest.raises(Invalid, match=r"limits are headrace\.Limits"):
        headrace.open(":memory:", limits=limits)
    with pytest.raises(Invalid, match="body_bytes must be a whole number from 1"):
        headrace.Limits(body_bytes=-3)


def test_no_such_name_in_the_package() -> None:
    with pytest.raises(AttributeError, match="'Itm'"):
        getattr(headrace, "Itm")  # noqa: B009
    assert {"Item", "open", "head_start"} <= set(dir(headrace))
