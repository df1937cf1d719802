"""The choice of d: against the law, against the table, and the table against the kernel."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.lab.kernels import relaxed as kernel
from headrace.lab.parameters import complete
from headrace.protocols.designs import relaxed_law
from headrace.protocols.designs.relaxed_curve import MINIMA, most_useful, peeks_for


@given(st.integers(1, 300), st.integers(1, 500), st.floats(0.1, 300))
def test_no_choice_is_beyond_the_minimum_or_more_than_the_target_needs(
    nodes: int, clients: int, mean_error: float
) -> None:
    peeks = peeks_for(nodes, clients, mean_error)
    assert 1 <= peeks <= most_useful(nodes, clients) <= nodes
    if peeks > 2:
        assert relaxed_law.mean(nodes, peeks - 1) > mean_error
    if 2 <= peeks < most_useful(nodes, clients):
        assert relaxed_law.mean(nodes, peeks) <= mean_error


@given(st.integers(2, 300), st.integers(1, 500), st.integers(1, 500))
def test_more_clients_never_get_more_peeks(nodes: int, some: int, more: int) -> None:
    assert most_useful(nodes, max(some, more)) <= most_useful(nodes, min(some, more))


@pytest.mark.parametrize(("nodes", "clients"), [(nodes, clients) for nodes, row in MINIMA.items() for clients in row])
def test_the_table_is_where_the_kernel_errs_least(nodes: int, clients: int) -> None:
    """Less than 3 % above the least of its neighbours, whose curve is flat there."""
    minimum = MINIMA[nodes][clients]

    def error(peeks: int) -> float:
        options = {"nodes": nodes, "peeks": peeks, "concurrency": clients, "interleave": "free", "keys": "growing"}
        measured: float = kernel.measure(complete(kernel.PARAMETERS, options | {"pops": 100_000}), 1)["mean"]
        return measured

    neighbours = {max(2, minimum - 1), minimum + 1, min(nodes, 2 * minimum)}
    assert error(minimum) <= 1.03 * min(map(error, neighbours))
