from headrace.sim.world import START_US, World


def test_what_is_due_happens_in_order_and_first_come_first_served() -> None:
    world = World("seed")
    told: list[str] = []
    world.after(20, lambda: told.append("late"))
    world.after(10, lambda: told.append("first"))
    world.after(10, lambda: told.append("second"))
    world.run(START_US + 15)
    assert told == ["first", "second"]
    assert world.now_us == START_US + 15
    world.run(START_US + 20)
    assert told[-1] == "late"


def test_streams_of_different_purposes_do_not_touch() -> None:
    first, second = World("seed"), World("seed")
    first.stream("other").random()
    assert first.stream("disk").random() == second.stream("disk").random()
    assert first.stream("disk").random() != first.stream("clients").random()


def test_the_trace_is_of_all_that_was_noted() -> None:
    first, second = World("seed"), World("seed")
    first.note(b"a")
    assert first.trace != second.trace
    second.note(b"a")
    assert first.trace == second.trace
