from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.core.items import entry_seq
from headrace.protocols import ready as module
from headrace.protocols.ready import Ready


def entry(priority: int, seq: int) -> bytes:
    return priority.to_bytes(8, "big") + seq.to_bytes(8, "big") + bytes(25) + b"body"


steps = st.lists(
    st.one_of(
        st.tuples(st.just("push"), st.lists(st.integers(0, 30), min_size=1, max_size=40)),
        st.tuples(st.just("push_in_order"), st.lists(st.just(5), min_size=1, max_size=40)),
        st.tuples(st.just("take"), st.integers(1, 50)),
        st.tuples(st.just("take_below"), st.integers(0, 30)),
        st.tuples(st.just("discard"), st.integers(0, 1000)),
        st.tuples(st.just("push_again"), st.integers(0, 1000)),
        st.tuples(st.just("peek"), st.integers(1, 20)),
    ),
    max_size=60,
)


@given(steps=steps, run_max=st.sampled_from([4, 16, 64]), hot_max=st.sampled_from([2, 8, 64]))
@settings(max_examples=300, deadline=None)
def test_it_is_a_sorted_list(steps: list[tuple[str, object]], run_max: int, hot_max: int) -> None:
    keep = module.RUN_MAX, module.HOT_MAX, module.TRIM_AT
    module.RUN_MAX, module.HOT_MAX, module.TRIM_AT = run_max, hot_max, 2  # type: ignore[misc]
    try:
        ready, model, removed, seq = Ready(), [], [], 0
        for verb, argument in steps:
            if verb in ("push", "push_in_order"):
                fresh = [entry(p, seq + i) for i, p in enumerate(argument)]  # type: ignore[arg-type]
                seq += len(fresh)
                model += fresh
                model.sort()
                if len(fresh) == 1:
                    ready.push(fresh[0])
                else:
                    ready.push_many(fresh)
            elif verb == "take":
                assert ready.take(argument) == model[:argument]  # type: ignore[arg-type]
                del model[:argument]  # type: ignore[misc]
            elif verb == "take_below":
                bound = entry(argument, 0)  # type: ignore[arg-type]
                below = [e for e in model if e < bound]
                assert ready.take(1000, bound) == below
                del model[: len(below)]
            elif verb == "discard" and model:
                victim = model.pop(argument % len(model))  # type: ignore[operator]
                ready.discard(entry_seq(victim))
                removed.append(victim)
            elif verb == "push_again" and removed:
                back = removed.pop(argument % len(removed))  # type: ignore[operator]
                ready.push(back)
                model.append(back)
                model.sort()
            elif verb == "peek":
                assert ready.peek(argument) == model[:argument]  # type: ignore[arg-type]
            assert len(ready) == len(model)
            assert ready.top() == (model[0] if model else None)
            assert sorted(ready) == model
            if model:
                probe = model[len(model) // 2]
                assert ready.ahead_of(probe) == len(model) // 2
            listed = [e for part in ready.parts() for e in part]
            assert sorted(e for e in listed if entry_seq(e) not in ready.tombstones()) == model
    finally:
        module.RUN_MAX, module.HOT_MAX, module.TRIM_AT = keep  # type: ignore[misc]


def test_a_set_is_made_of_sorted_entries() -> None:
    entries = [entry(1, i) for i in range(100_000)]
    ready = Ready.of_sorted(entries)
    assert len(ready) == 100_000
    assert ready.take(70_000) == entries[:70_000]
    assert ready.take(70_000) == entries[70_000:]
