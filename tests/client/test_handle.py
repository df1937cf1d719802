"""The verbs of the handle for threads."""

import datetime as dt
import threading
from pathlib import Path

import pytest

import headrace
from headrace import Headrace, Item


def bodies(items: list[headrace.Lease]) -> list[bytes]:
    return [item.body for item in items]


def test_an_item_comes_out_as_it_went_in(hr: Headrace) -> None:
    before = dt.datetime.now(dt.UTC)
    item_id = hr.add("q", b"cat.png", priority=3, key="k", headers={"lang": "en"})
    (item,) = hr.pop("q")
    assert (item.id, item.queue, item.body, item.priority) == (item_id, "q", b"cat.png", 3)
    assert (item.key, item.headers, item.attempt) == ("k", {"lang": "en"}, 1)
    assert before <= item.added <= dt.datetime.now(dt.UTC)
    assert headrace.Receipt.parse(str(item.receipt)) == item.receipt


def test_the_most_urgent_first_and_then_first_come_first_served(hr: Headrace) -> None:
    hr.add_many("q", [Item(b"c", priority=2), b"a", Item(b"d", priority=2), b"b", Item(b"z", priority=-1)])
    assert [item.body for item in hr.peek("q", 9)] == [b"z", b"a", b"b", b"c", b"d"]
    assert bodies(hr.pop("q", 9)) == [b"z", b"a", b"b", b"c", b"d"]


def test_ids_are_given_in_the_order_of_their_items_and_sort_in_it(hr: Headrace) -> None:
    ids = hr.add_many("q", [b"a", b"b", b"c"])
    assert list(ids) == sorted(ids) == [item.id for item in hr.peek("q", 3)]
    assert (len(ids), ids[1:]) == (3, list(ids)[1:])


def test_a_batch_goes_in_whole_or_not_at_all(hr: Headrace) -> None:
    hr.declare("q", capacity_items=2)
    with pytest.raises(headrace.Full):
        hr.add_many("q", [b"a", b"b", b"c"])
    with pytest.raises(headrace.Invalid, match="item 1: a body is bytes, not str"):
        hr.add_many("q", [b"a", "b"])  # type: ignore[list-item]
    assert hr.peek("q", 9) == []


def test_a_key_that_is_known_adds_nothing_and_gives_the_first_id(hr: Headrace) -> None:
    first = hr.add("q", b"a", key="k")
    assert hr.add("q", b"other", key="k") == first
    assert list(hr.add_many("q", [b"c", Item(b"d", key="k")]))[1] == first
    assert hr.add("another", b"a", key="k") != first
    stats = hr.stats("q")
    assert (stats.added, stats.deduplicated) == (2, 2)


def test_head_start_keeps_everything_from_starving(hr: Headrace) -> None:
    hr.add("q", b"patient", priority=headrace.head_start(0))
    hr.add("q", b"urgent", priority=headrace.head_start(120))
    assert bodies(hr.pop("q", 2)) == [b"urgent", b"patient"]
    assert headrace.head_start(0) < headrace.head_start(-1)


# -- take and leases


def test_take_commits_at_the_end_and_aborts_on_an_exception(hr: Headrace) -> None:
    first, _ = hr.add_many("q", [b"a", b"b"])
    taken = []
    for item in hr.take("q", wait=0):
        taken.append((item.body, item.attempt))
        try:
            with item:
                if len(taken) == 1:
                    raise ValueError("upside down")
        except ValueError:
            continue
    assert taken == [(b"a", 1), (b"a", 2), (b"b", 1)]
    assert hr.why(first).state == "unknown"
    assert hr.stats("q").committed == 2


def test_going_on_with_an_item_unsettled_aborts_it(hr: Headrace) -> None:
    item_id = hr.add("q", b"a")
    taken = hr.take("q", wait=0)
    next(taken)
    assert next(taken).attempt == 2
    taken.close()
    assert [tried.reason for tried in hr.why(item_id).attempts] == [
        "aborted: not settled before the next was taken"
    ] * 2


def test_take_waits_until_an_item_comes(hr: Headrace) -> None:
    taken: list[bytes] = []

    def work() -> None:
        for item in hr.take(["q", "r"]):
            with item:
                taken.append(item.body)
                if item.body == b"last":
                    return

    worker = threading.Thread(target=work)
    worker.start()
    hr.add("r", b"first")
    hr.add("q", b"last")
    worker.join(10)
    assert taken == [b"first", b"last"]


def test_a_lease_in_a_with_block_is_renewed_for_as_long_as_it_takes(hr: Headrace) -> None:
    hr.add("q", b"a")
    (item,) = hr.pop("q", lease=0.2)
    with item:
        assert hr.pop("q", wait=0.7) == []
    assert hr.stats("q").committed == 1


def test_a_lease_that_nobody_renews_ends_and_its_late_commit_is_stale_once_another_has_it(hr: Headrace) -> None:
    item_id = hr.add("q", b"a")
    (first,) = hr.pop("q", lease=0.05)
    (second,) = hr.pop("q", wait=10)
    assert second.attempt == 2
    with pytest.raises(headrace.StaleLease):
        first.commit()
    second.commit()
    with pytest.raises(headrace.Gone):
        second.commit()
    assert hr.why(item_id).state == "unknown"


def test_a_late_commit_is_obeyed_while_the_item_is_still_queued(hr: Headrace) -> None:
    hr.add("q", b"a")
    (item,) = hr.pop("q")
    receipt = str(item.receipt)
    item.abort()
    hr.commit(receipt)
    assert hr.stats("q").queued == 0


def test_commit_takes_leases_receipts_and_their_text_one_or_many(hr: Headrace) -> None:
    hr.add_many("q", [b"a", b"b", b"c", b"d"])
    a, b, c, d = hr.pop("q", 4)
    hr.commit(a)
    hr.commit([b.receipt, str(c.receipt)])
    hr.commit(str(d.receipt))
    assert hr.stats("q").committed == 4


def test_those_in_time_take_effect_even_when_others_do_not(hr: Headrace) -> None:
    hr.add_many("q", [b"a", b"b"])
    a, b = hr.pop("q", 2)
    a.commit()
    with pytest.raises(headrace.Gone, match="1 of 2 leases"):
        hr.commit([a, b])
    assert hr.stats("q").committed == 2


def test_a_commit_and_what_it_produced_are_one_step(hr: Headrace) -> None:
    hr.add("q", b"a")
    (item,) = hr.pop("q")
    item.commit(add=[("next", b"a-small"), ("next", Item(b"a-large", priority=-1)), ("log", b"done")])
    assert [queued.body for queued in hr.peek("next", 9)] == [b"a-large", b"a-small"]
    assert hr.stats("log").queued == 1


def test_a_commit_that_is_refused_adds_nothing(hr: Headrace) -> None:
    hr.add("q", b"a")
    (item,) = hr.pop("q")
    item.commit()
    with pytest.raises(headrace.Gone, match="nothing was committed and nothing added"):
        item.commit(add=[("next", b"a-small")])
    assert [stats.queue for stats in hr.queues()] == ["q"]


def test_an_abort_can_delay_and_can_bury(hr: Headrace) -> None:
    item_id = hr.add("q", b"a")
    (item,) = hr.pop("q")
    item.abort(delay=60, reason="no disk")
    place = hr.why(item_id)
    assert (place.state, hr.pop("q")) == ("delayed", [])
    assert place.due is not None
    assert 50 < (place.due - dt.datetime.now(dt.UTC)).total_seconds() <= 60
    hr.add("q", b"b")
    (other,) = hr.pop("q")
    other.abort(dead=True, reason="no such picture")
    (dead,) = hr.dead("q")
    assert (dead.body, dead.reason, dead.attempts) == (b"b", "aborted: no such picture", 1)


def test_extend_holds_a_lease_for_longer(hr: Headrace) -> None:
    hr.add("q", b"a")
    (item,) = hr.pop("q", lease=0.05)
    item.extend(60)
    assert hr.pop("q", wait=0.2) == []
    item.commit()


def test_several_queues_are_one_line_by_priority(hr: Headrace) -> None:
    hr.add_many("low", [Item(b"c", priority=3), Item(b"d", priority=5)])
    hr.add_many("high", [Item(b"a", priority=1), Item(b"e", priority=7)])
    items = hr.pop(["low", "high"], 3)
    assert [(item.queue, item.body) for item in items] == [("high", b"a"), ("low", b"c"), ("low", b"d")]
    hr.commit(items)


def test_a_conditional_pop_is_refused_with_the_fresh_top(hr: Headrace) -> None:
    hr.add("q", b"a", priority=5)
    refused = hr.pop("q", at_least=4)
    assert (refused, refused.top) == ([], 5)
    assert bodies(hr.pop("q", at_least=5)) == [b"a"]
    empty = hr.pop("q", at_least=5)
    assert (empty, empty.top) == ([], None)


def test_a_named_pop_gives_the_same_items_until_they_are_settled(hr: Headrace) -> None:
    hr.add_many("q", [b"a", b"b", b"c"])
    first = hr.pop("q", 2, name="batch-1")
    assert [item.receipt for item in hr.pop("q", 2, name="batch-1")] == [item.receipt for item in first]
    hr.commit(first)
    with pytest.raises(headrace.Gone, match="'batch-1' is settled"):
        hr.pop("q", 2, name="batch-1")
    assert bodies(hr.pop("q", 2, name="batch-2")) == [b"c"]


# -- what waits


def test_an_add_waits_for_room(hr: Headrace) -> None:
    hr.declare("q", capacity_items=1)
    hr.add("q", b"a")
    with pytest.raises(headrace.Full, match="q"):
        hr.add("q", b"b", wait=0.01)
    waiting = threading.Thread(target=hr.add, args=("q", b"b"), kwargs={"wait": 10})
    waiting.start()
    hr.commit(hr.pop("q"))
    waiting.join(10)
    assert bodies(hr.pop("q")) == [b"b"]


def test_closing_ends_the_calls_that_wait(tmp_path: Path) -> None:
    hr = headrace.open(tmp_path)
    ended: list[headrace.HeadraceError] = []
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        try:
            hr.pop("q", wait=None)
        except headrace.HeadraceError as error:
            ended.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    waits.wait()
    hr.close()
    waiting.join(10)
    assert [type(error) for error in ended] == [headrace.Unavailable]


def test_closing_gives_back_what_is_held_and_counts_against_nobody(tmp_path: Path) -> None:
    with headrace.open(tmp_path) as hr:
        item_id = hr.add("q", b"a")
        hr.pop("q")
    with headrace.open(tmp_path) as hr:
        (item,) = hr.pop("q")
        assert item.attempt == 2
        assert [tried.reason for tried in hr.why(item_id).attempts] == ["closed", ""]


# -- time


def test_an_item_is_handed_out_once_it_is_due(hr: Headrace) -> None:
    hr.add("q", b"later", delay=0.1)
    hr.add("q", b"much later", not_before=dt.datetime.now(dt.UTC) + dt.timedelta(hours=1))
    hr.add("q", b"long due", not_before=dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
    assert bodies(hr.pop("q", 9)) == [b"long due"]
    assert bodies(hr.pop("q", 9, wait=10)) == [b"later"]


def test_an_item_that_outlived_its_time_is_dropped_or_dead_as_the_queue_says(hr: Headrace) -> None:
    hr.declare("kept", keep_expired=True)
    for queue in ("dropped", "kept"):
        hr.add(queue, b"a", expires=0.01)
        assert hr.pop("nothing", wait=0.05) == []
        assert hr.pop(queue) == []
    assert (hr.stats("dropped").expired, hr.stats("dropped").dead) == (1, 0)
    assert [dead.reason for dead in hr.dead("kept")] == ["expired"]


# -- tending


def test_after_too_many_attempts_an_item_is_dead_until_it_is_revived(hr: Headrace) -> None:
    hr.declare("q", max_attempts=2)
    item_id = hr.add("q", b"a")
    for _ in range(2):
        (item,) = hr.pop("q")
        item.abort(reason="broken")
    assert hr.pop("q") == []
    assert hr.why(item_id).state == "dead"
    assert hr.revive("q") == 1
    (item,) = hr.pop("q")
    assert item.attempt == 1


def test_dead_items_are_listed_page_by_page_revived_and_purged_by_id(hr: Headrace) -> None:
    ids = list(hr.add_many("q", [b"a", b"b", b"c"]))
    hr.abort(hr.pop("q", 3), dead=True)
    (first, second) = hr.dead("q", 2)
    (third,) = hr.dead("q", 2, after=second.place)
    assert [first.id, second.id, third.id] == ids
    assert hr.purge("q", ids=[ids[0]]) == 1
    assert hr.revive("q", [ids[1]]) == 1
    assert hr.purge("q", dead=True) == 1
    with pytest.raises(headrace.Gone, match="has no dead item"):
        hr.revive("q", ids[:1])
    assert (hr.stats("q").queued, hr.stats("q").purged) == (1, 2)


def test_purge_takes_what_is_queued_and_leaves_what_is_leased(hr: Headrace) -> None:
    hr.add_many("q", [b"a", b"b", Item(b"c", delay=60)])
    (leased,) = hr.pop("q")
    assert hr.purge("q") == 2
    leased.commit()
    assert hr.stats("q").committed == 1


def test_a_paused_queue_takes_in_and_hands_nothing_out(hr: Headrace) -> None:
    hr.add("q", b"a")
    hr.pause("q")
    hr.add("q", b"b")
    with pytest.raises(headrace.Paused):
        hr.pop("q")
    assert hr.pop("q", wait=0.01) == []
    hr.resume("q")
    assert bodies(hr.pop("q", 2)) == [b"a", b"b"]


def test_settings_change_one_by_one_and_survive(tmp_path: Path) -> None:
    with headrace.open(tmp_path) as hr:
        hr.declare("q", lease_seconds=5.0)
        hr.declare("q", max_attempts=7)
    with headrace.open(tmp_path) as hr:
        assert hr.stats("q").settings == headrace.QueueSettings(lease_seconds=5.0, max_attempts=7)


def test_a_queue_is_dropped_with_all_in_it_but_not_under_a_worker(hr: Headrace) -> None:
    hr.add_many("q", [b"a", b"b"])
    items = hr.pop("q")
    with pytest.raises(headrace.Unavailable, match="leased"):
        hr.drop("q")
    hr.commit(items)
    hr.drop("q")
    assert hr.queues() == []


def test_why_says_where_an_item_is_and_how_many_are_ahead(hr: Headrace) -> None:
    ids = list(hr.add_many("q", [b"a", b"b", Item(b"c", priority=-1)]))
    place = hr.why(ids[1])
    assert (place.state, place.queue, place.ahead, place.attempts) == ("queued", "q", 2, [])
    assert place.since == place.added
    hr.pop("q", 2)
    assert hr.why(ids[1]).ahead == 0
    leased = hr.why(ids[0])
    assert leased.state == "leased"
    assert [(tried.ended, tried.reason) for tried in leased.attempts] == [(None, "")]


def test_the_ledger_balances_after_everything(hr: Headrace) -> None:
    hr.declare("q", max_attempts=1)
    hr.add_many("q", [b"%d" % i for i in range(20)])
    hr.commit(hr.pop("q", 5), add=[("q", b"more")])
    hr.abort(hr.pop("q", 3))
    hr.abort(hr.pop("q", 2), dead=True)
    hr.purge("q", ids=[hr.dead("q")[0].id])
    hr.pop("q", 2)
    stats = hr.stats("q")
    left = stats.queued + stats.leased + stats.dead
    assert stats.added == stats.committed + stats.expired + stats.purged + left == 21


def test_a_closed_handle_says_so(hr: Headrace) -> None:
    hr.close()
    hr.close()
    with pytest.raises(headrace.Unavailable, match="the handle is closed"):
        hr.add("q", b"a")
