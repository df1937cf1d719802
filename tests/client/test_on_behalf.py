"""What a supervisor says on behalf of a process that died, and what a caller takes back."""

from pathlib import Path

import pytest

import headrace
from headrace.client.handle import end_session, hand_back, withdraw
from headrace.core.records import CLOSED, WORKER_CRASHED
from headrace.runtime.link import Link
from tests.server.serve import served


def test_a_crash_is_counted_apart_and_after_a_few_the_item_is_dead(hr: headrace.Headrace) -> None:
    id = hr.add("q", b"a")
    hr.declare("q", max_attempts=1)
    for _ in range(3):
        (lease,) = hr.pop("q")
        hand_back(hr, lease.receipt, WORKER_CRASHED, "killed")
    place = hr.why(id)
    assert place.state == "dead"
    assert [tried.reason for tried in place.attempts] == 3 * ["worker crashed: killed"]


def test_what_is_handed_back_counts_as_nothing(hr: headrace.Headrace) -> None:
    id = hr.add("q", b"a")
    hr.declare("q", max_attempts=1, max_crashes=1)
    for _ in range(5):
        (lease,) = hr.pop("q")
        hand_back(hr, lease.receipt, CLOSED)
    assert hr.why(id).state == "queued"


def test_a_receipt_that_is_settled_is_not_handed_back(hr: headrace.Headrace) -> None:
    hr.add("q", b"a")
    (lease,) = hr.pop("q")
    lease.commit()
    with pytest.raises(headrace.Gone):
        hand_back(hr, lease.receipt, CLOSED)


def test_another_can_end_a_session_whose_name_it_knows(tmp_path: Path) -> None:
    with served(tmp_path) as node:
        url = f"headrace://127.0.0.1:{node.port}"
        with headrace.connect(url) as dead, headrace.connect(url) as supervisor:
            dead.add_many("q", [b"a", b"b"])
            ids = [lease.id for lease in dead.pop("q", 2)]
            link = dead._engine
            assert isinstance(link, Link)
            for _ in range(2):  # the second time there is nothing left to end
                end_session(supervisor, link.session)
            assert supervisor.stats("q").queued == 2
            assert [tried.reason for tried in supervisor.why(ids[0]).attempts] == ["closed"]


def test_only_what_is_queued_can_be_withdrawn(hr: headrace.Headrace) -> None:
    leased = hr.add("q", b"a")
    hr.pop("q")
    queued, delayed = hr.add("q", b"b"), hr.add("q", b"c", delay=60)
    other = hr.add("q", b"d")
    assert [withdraw(hr, "q", id) for id in (leased, queued, queued, delayed)] == [False, True, False, True]
    assert [item.id for item in hr.peek("q", 9)] == [other]
    stats = hr.stats("q")
    assert (stats.queued, stats.leased, stats.purged) == (1, 1, 2)


def test_a_lease_is_found_by_its_id_whichever_queue_it_is_in(hr: headrace.Headrace) -> None:
    for queue in ("a", "b", "c"):
        hr.add(queue, b"other")
        id = hr.add(queue, b"mine", priority=-1)
        hr.pop(queue)
        assert (hr.why(id).queue, hr.why(id).state) == (queue, "leased")
