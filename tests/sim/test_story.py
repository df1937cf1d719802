from headrace.core.commands import Add, Batch, PopDone
from headrace.core.items import Item, encode_item, entries_of
from headrace.core.limits import Limits
from headrace.core.records import Added
from headrace.sim.story import show

ITEM = encode_item(Item(b"x" * 50), (7).to_bytes(16, "big"), 0, Limits())


def test_items_are_told_by_their_numbers_and_what_is_usual_is_left_out() -> None:
    assert show(Add("q", [ITEM])) == "Add(queue='q', items=[item 7])"
    assert show(Added(5, b"s", 1, 1, "q", 3, [ITEM])) == "Added(queue='q', first_seq=3, items=[item 7])"


def test_what_is_handed_out_is_told_by_item_and_receipt() -> None:
    done = PopDone([Batch("q", 123456, [4], entries_of([ITEM], 0, 0), [1], 60)])
    told = "Batch(queue='q', epoch=…3456, counters=[4], entries=[item 7], attempts=[1], lease_us=60)"
    assert show(done) == f"PopDone(batches=[{told}])"
