from headrace.core import errors


def test_every_error_has_its_place_in_the_table() -> None:
    named = [
        cls
        for cls in vars(errors).values()
        if isinstance(cls, type)
        and issubclass(cls, errors.HeadraceError)
        and cls not in (errors.HeadraceError, errors.Rejected)
    ]
    assert set(named) == set(errors.OUTWARD)


def test_exit_codes_are_usage_failure_and_nothing_there() -> None:
    assert errors.outward(errors.Invalid("x")).exit_code == 2
    assert errors.outward(errors.Full("x")).exit_code == 1
    assert errors.outward(errors.Gone("x")).exit_code == 3
