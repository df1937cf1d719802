"""One directory, several processes and threads: who owns it, forks, stalls, interrupts."""

import ast
import itertools
import json
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import headrace
from tests.live.process import Process

README = Path(__file__).parents[2] / "README.md"


def test_a_second_process_gets_one_sentence_with_the_owners_pid(tmp_path: Path) -> None:
    owner = """
        import sys, headrace
        with headrace.open(sys.argv[1]) as hr:
            hr.add("q", b"mine")
            print("open")
            sys.stdin.readline()
    """
    with Process(owner, tmp_path) as process:
        assert process.line() == "open"
        with pytest.raises(headrace.Unavailable, match=rf"is in use by process {process.pid}\b") as refused:
            headrace.open(tmp_path)
        assert "\n" not in str(refused.value)
        with Process("from headrace.cli import main; main()", "peek", "q", "--at", tmp_path) as second:
            assert second.failure() == f"headrace: {refused.value}\n"
        process.say("close")
        process.rest()
    with headrace.open(tmp_path) as hr:
        assert hr.stats("q").queued == 1


def test_after_a_fork_the_childs_handle_refuses_and_the_parents_goes_on(tmp_path: Path) -> None:
    program = """
        import os, sys, headrace
        hr = headrace.open(sys.argv[1])
        hr.add("q", b"before")
        (lease,) = hr.pop("q")
        if os.fork() == 0:
            for call in (lambda: hr.add("q", b"child"), lambda: hr.pop("q", wait=None), lease.commit, hr.queues):
                try:
                    call()
                    print("not refused")
                except headrace.Unavailable as error:
                    print("child:", error)
            hr.close()
            try:
                headrace.open(sys.argv[1])
            except headrace.Unavailable as error:
                print("child:", error)
            sys.stdout.flush()
            sys.exit(0)
        os.wait()
        hr.add("q", b"after")
        lease.commit()
        print("parent:", [item.body for item in hr.peek("q", 9)], hr.stats("q").committed)
        hr.close()
    """
    with Process(program, tmp_path) as process:
        *child, again, parent = process.rest()
    sentence = "child: this handle was opened before a fork: open the directory anew in the child process"
    assert child == [sentence] * 4
    assert f"is in use by process {process.pid}" in again
    assert parent == "parent: [b'after'] 1"


def test_our_own_stall_expires_nobody(tmp_path: Path) -> None:
    program = """
        import sys, headrace
        limits = headrace.Limits(late_us=int(sys.argv[2]))
        with headrace.open(sys.argv[1], durability="os", limits=limits) as hr:
            hr.add("q", b"a")
            (item,) = hr.pop("q", lease=1.5)
            print("leased")
            sys.stdin.readline()
            (again,) = hr.pop("q", wait=0.3) or [None]
            print("expired" if again else "held")
    """
    with Process(program, tmp_path / "careful", 50_000) as careful, Process(program, tmp_path / "not", 10**12) as not_:
        for process in (careful, not_):
            assert process.line() == "leased"
            process.send(signal.SIGSTOP)
        time.sleep(1.7)  # beyond the lease: it is this that is tested
        for process in (careful, not_):
            process.say("go")
            process.send(signal.SIGCONT)
        assert careful.rest() == ["held"]
        assert not_.rest() == ["expired"], "without the safeguard the lease must have expired, or nothing was tested"


def test_an_interrupt_ends_a_wait_and_the_handle_goes_on(tmp_path: Path) -> None:
    program = """
        import sys, headrace
        with headrace.open(sys.argv[1]) as hr:
            try:
                print("waiting")
                hr.pop("q", wait=None)
            except KeyboardInterrupt:
                print("interrupted")
            item_id = hr.add("q", b"a")
            (item,) = hr.pop("q")  # not granted to the call that is gone
            print(item.attempt)
            item.commit()
    """
    with Process(program, tmp_path) as process:
        assert process.line() == "waiting"
        process.send(signal.SIGINT)
        assert process.rest() == ["interrupted", "1"]


def test_threads_share_a_handle_and_each_item_is_done_once(tmp_path: Path) -> None:
    done: list[bytes] = []
    with headrace.open(tmp_path) as hr:

        def add(source: int) -> None:
            for n in range(50):
                hr.add("q", b"%d.%d" % (source, n), priority=n % 3)

        def work() -> None:
            for item in hr.take("q", wait=0.5):
                with item:
                    done.append(item.body)

        threads = [threading.Thread(target=add, args=(n,)) for n in range(4)]
        threads += [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == sorted(b"%d.%d" % (source, n) for source in range(4) for n in range(50))
        assert hr.stats("q").committed == 200


def test_a_process_that_ends_without_closing_lets_go_of_all(tmp_path: Path) -> None:
    program = """
        import sys, headrace
        hr = headrace.open(sys.argv[1], durability="os")
        hr.add_many("q", [b"a", b"b"])
        hr.pop("q")
        sys.exit("I forgot to close")
    """
    with Process(program, tmp_path) as process:
        assert process.failure() == "I forgot to close\n"
    with headrace.open(tmp_path) as hr:
        (item, _) = hr.pop("q", 2)
        assert [tried.reason for tried in hr.why(item.id).attempts] == ["closed", ""]


def test_the_program_in_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    program = README.read_text().split("```python\n")[1].split("```")[0]
    inside = f"import os\nos.chdir({str(tmp_path)!r})\n{program}"
    for _ in range(2):
        with Process(inside) as process:
            lines = [line.split(maxsplit=3) for line in process.rest()]
        assert [(priority, attempt, ast.literal_eval(body)) for _, priority, attempt, body in lines] == [
            ("0", "1", b"dog.png"),
            ("1", "1", b"eel.png"),
            ("3", "1", b"cat.png"),
        ]
    with Process(
        "from headrace.cli import main; main()", "stats", "thumbnails", "--json", "--at", tmp_path / "data"
    ) as process:
        (line,) = process.rest()
    assert json.loads(line)["committed"] == 6


def test_a_handle_closed_under_load_ends_every_call_and_keeps_what_was_promised(tmp_path: Path) -> None:
    promised: list[bytes] = []
    errors: list[headrace.HeadraceError] = []

    def work(hr: headrace.Headrace, source: str) -> None:
        try:
            for n in itertools.count():
                body = f"{source}.{n}".encode()
                hr.add("in", body)
                promised.append(body)
                for item in hr.pop("in", wait=0.01):
                    item.commit(add=[("out", item.body)])
        except headrace.HeadraceError as error:
            errors.append(error)

    for life in range(4):
        hr = headrace.open(tmp_path, durability="os" if life % 2 else "fsync")
        threads = [threading.Thread(target=work, args=(hr, f"{life}-{n}")) for n in range(4)]
        for thread in threads:
            thread.start()
        while len(promised) < 50 * (life + 1):
            assert not errors[4 * life :]
        hr.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
    assert [type(error) for error in errors] == [headrace.Unavailable] * 16
    with headrace.open(tmp_path) as hr:
        found = Counter(item.body for queue in ("in", "out") for item in hr.peek(queue, 1_000_000))
    assert set(promised) <= set(found)
    assert set(found.values()) == {1}
