import pytest

from headrace.core.errors import Gone, Invalid
from headrace.core.estimates import Estimate
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.results import Results, Row, flat, kept, rows_of

PLAN = Experiment(
    name="test",
    kernel="tests.spark.kernels.noise",
    points=grid(nodes=[5, 20], policy=["best", "hide"]),
    common=("policy",),
)


def measured(values: dict[tuple[int, str], list[float]], plan: Experiment = PLAN) -> Results:
    """Results with these means at (nodes, policy), one for each replication."""
    rows = [
        row
        for (nodes, policy), column in values.items()
        for run, value in zip(plan.runs({"nodes": nodes, "policy": policy}, 0, len(column)), column, strict=True)
        for row in rows_of("test", run, metrics={"mean": (value, 0.5)}, seconds=0.1, version="v")
    ]
    return Results.of(plan, reversed(rows))


def test_nested_measurements_become_dotted_metrics_with_their_half_widths() -> None:
    assert flat({"mean": 2, "mean_ci95": 0.1, "by": {"a": {"x": 1, "x_ci95": 3}}, "list": [4, 5]}) == {
        "mean": (2.0, 0.1),
        "by.a.x": (1.0, 3.0),
        "list.0": (4.0, None),
        "list.1": (5.0, None),
    }


def test_wanted_metrics_are_kept_with_all_that_is_nested_in_them() -> None:
    metrics = flat({"mean": 1, "p50": 2, "bins": {"0": 3}, "binsize": 4})
    assert set(kept(metrics, ("mean", "bins"))) == {"mean", "bins.0"}
    assert kept(metrics, ()) == metrics
    with pytest.raises(Invalid, match="Did you mean 'mean'"):
        kept(metrics, ("maen",))


def test_replications_give_the_interval_and_a_single_run_its_own() -> None:
    results = measured({(5, "best"): [1.0, 2.0, 3.0], (20, "best"): [7.0]})
    several = results.estimate("mean", nodes=5, policy="best")
    assert several.value == 2.0
    assert several.half_width == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert results.estimate("mean", nodes=20, policy="best") == Estimate(7.0, 0.5)


def test_values_come_in_the_order_of_replications() -> None:
    results = measured({(5, "best"): [3.0, 1.0, 2.0]})
    assert results.values("mean", nodes=5, policy="best") == [3.0, 1.0, 2.0]


def test_a_series_runs_over_one_parameter_and_leaves_out_what_failed() -> None:
    results = measured({(5, "best"): [1.0], (20, "hide"): [9.0], (20, "best"): [4.0], (5, "hide"): []})
    assert [(x, y.value) for x, y in results.series("mean", over="nodes", policy="best")] == [(5, 1.0), (20, 4.0)]
    assert [x for x, _ in results.series("mean", over="nodes", policy="hide")] == [20]
    with pytest.raises(Invalid, match="leaves more open"):
        results.series("mean", over="nodes")


def test_comparisons_pair_the_runs_that_shared_their_seeds() -> None:
    results = measured({(5, "best"): [10.0, 20.0, 30.0], (5, "hide"): [5.0, 10.0, 15.0, 99.0]})
    assert results.ratio("mean", of={"policy": "hide"}, to={"policy": "best"}, nodes=5).value == pytest.approx(0.5)
    assert results.difference("mean", of={"policy": "hide"}, to={"policy": "best"}, nodes=5).value == -10.0


def test_a_comparison_without_common_random_numbers_is_refused() -> None:
    results = measured({(5, "best"): [1.0], (20, "best"): [2.0]})
    with pytest.raises(Invalid, match="share no seeds: name nodes in `common`"):
        results.difference("mean", of={"nodes": 5}, to={"nodes": 20}, policy="best")


def test_what_is_not_there_is_named() -> None:
    results = measured({(5, "best"): [1.0]})
    with pytest.raises(Invalid, match="Did you mean 'nodes'"):
        results.estimate("mean", node=5)
    with pytest.raises(Invalid, match="2 points"):
        results.estimate("mean", nodes=5)
    with pytest.raises(Gone, match="Did you mean 'mean'"):
        results.estimate("maen", nodes=5, policy="best")
    with pytest.raises(Gone, match="no 'mean' at"):
        results.estimate("mean", nodes=20, policy="hide")


def test_rows_of_points_that_the_experiment_no_longer_has_are_left_out() -> None:
    stray = Row("test", "nowhere", "{}", 1, "mean", 1.0, None, "v", 0.1)
    assert Results.of(PLAN, [stray]).rows == ()


def test_nested_metrics_come_back_as_a_mapping() -> None:
    run = PLAN.runs(PLAN.points[0], 0, 1)[0]
    rows = rows_of("test", run, metrics=flat({"bins": {"0": 0.4, "1": 0.6}}), seconds=0.1, version="v")
    found = Results.of(PLAN, rows).mapping("bins", **PLAN.points[0])
    assert {name: estimate.value for name, estimate in found.items()} == {"0": 0.4, "1": 0.6}
