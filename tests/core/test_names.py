from headrace.core.names import nearest


def test_a_near_word_is_offered_and_a_far_one_is_not() -> None:
    assert nearest("simulat", ["model", "simulate"]) == " Did you mean 'simulate'?"
    assert nearest("zebra", ["model", "simulate"]) == ""
