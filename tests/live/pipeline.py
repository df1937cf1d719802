"""A program to be killed: threads that add names to `in`, and threads that move them to `out`, in one step each.

It says what it is about to do and what it was promised, a line each: `adding NAMES`, `added NAMES`, `moved NAME`.
"""

import os
import sys
import threading

import headrace


def tell(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # less than PIPE_BUF, so never torn


def add(hr: headrace.Headrace, source: str) -> None:
    n = 0
    while True:
        names = [f"{source}.{n + i}" for i in range(5)]
        n += 5
        tell(f"adding {' '.join(names)}")
        hr.add_many("in", [headrace.Item(name.encode(), priority=i) for i, name in enumerate(names)], wait=None)
        tell(f"added {' '.join(names)}")


def move(hr: headrace.Headrace) -> None:
    for item in hr.take("in"):
        with item:
            if item.attempt == 1 and item.body.endswith(b"7"):
                item.abort(reason="a seven")
                continue
            item.commit(add=[("out", item.body)])
        tell(f"moved {item.body.decode()}")


def main(at: str, durability: str, life: str) -> None:
    hr = headrace.open(at, durability=durability)
    hr.declare("in", capacity_items=200, max_crashes=1000)
    targets = [(add, (hr, f"{life}-{n}")) for n in range(2)] + [(move, (hr,)) for _ in range(3)]
    threads = [threading.Thread(target=target, args=args) for target, args in targets]
    for thread in threads:
        thread.start()
    threads[0].join()


main(*sys.argv[1:])
