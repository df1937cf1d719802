"""Entries as recovery gathers them: a mapping like any other."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.core.items import entry_of
from headrace.protocols.loaded import Loaded

places = st.integers(0, 1200)


def entry(seq: int) -> bytes:
    return entry_of(bytes(25), seq, 0)


@given(st.lists(st.tuples(st.booleans(), places), max_size=60), st.lists(places))
def test_it_holds_what_was_put_in_and_not_taken_out(steps: list[tuple[bool, int]], asked: list[int]) -> None:
    loaded, model = Loaded(), dict[int, bytes]()
    for puts, seq in steps:
        if puts:
            loaded.put_all([entry(seq)])
            model[seq] = entry(seq)
        elif seq in model:
            assert loaded.pop(seq) == model.pop(seq)
    assert len(loaded) == len(model)
    assert sorted(loaded) == sorted(model.values())
    assert [seq in loaded for seq in asked] == [seq in model for seq in asked]
