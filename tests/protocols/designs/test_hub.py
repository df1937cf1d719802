"""The hub's decisions, as plain Python."""

from headrace.protocols.designs import hub


def test_a_producer_goes_on_while_it_has_room_at_the_hub() -> None:
    assert hub.place(held=4, buffers=5)
    assert not hub.place(held=5, buffers=5)


def test_a_request_is_served_or_waits_and_new_objects_go_to_who_waits() -> None:
    assert hub.find(stored=1) == hub.GIVE
    assert hub.find(stored=0) == hub.WAIT
    assert hub.hand_over(waiting=1)
    assert not hub.hand_over(waiting=0)
