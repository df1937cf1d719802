import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.core.errors import Invalid
from headrace.spark.plan.experiment import Cut, Experiment, Precision, canonical, grid

KERNEL = "tests.spark.kernels.noise"


def experiment(**changes: object) -> Experiment:
    given: dict[str, object] = {"kernel": KERNEL, "points": grid(nodes=[5, 20], policy=["best", "hide"], length=100)}
    return Experiment(**(given | changes))  # type: ignore[arg-type]


def test_a_grid_is_all_combinations_in_order() -> None:
    assert grid(nodes=[5, 20], peeks=(1, 2), place="random") == (
        {"nodes": 5, "peeks": 1, "place": "random"},
        {"nodes": 5, "peeks": 2, "place": "random"},
        {"nodes": 20, "peeks": 1, "place": "random"},
        {"nodes": 20, "peeks": 2, "place": "random"},
    )


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.integers() | st.text(max_size=4), min_size=2), st.randoms())
def test_the_order_of_parameters_does_not_matter(parameters: dict[str, object], order: object) -> None:
    names = list(parameters)
    order.shuffle(names)  # type: ignore[attr-defined]
    shuffled = {name: parameters[name] for name in names}
    plan = experiment()
    assert canonical(shuffled) == canonical(parameters)
    assert plan.seed_of(shuffled, 3) == plan.seed_of(parameters, 3)
    assert plan.point_of(shuffled) == plan.point_of(parameters)


def test_seeds_are_the_same_in_another_process_and_never_change() -> None:
    """A table made last year must resume: these numbers are a contract."""
    code = (
        "from tests.spark.plan.test_experiment import experiment;"
        "p = experiment(); print([p.seed_of(q, n) for q in p.points for n in (0, 1)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    plan = experiment()
    ours = [plan.seed_of(point, number) for point in plan.points for number in (0, 1)]
    assert json.loads(done.stdout) == ours
    assert ours[:2] == [2414930868126695, 2921202812406128]
    assert len(set(ours)) == len(ours)
    assert all(0 <= seed < 2**53 for seed in ours)


def test_another_seed_or_kernel_gives_other_streams() -> None:
    point = experiment().points[0]
    seeds = {
        plan.seed_of(point, 0)
        for plan in (experiment(), experiment(seed=2), experiment(kernel="tests.spark.kernels.x"))
    }
    assert len(seeds) == 3


def test_a_point_has_the_same_streams_in_every_experiment_that_holds_it() -> None:
    alone = experiment(name="other", points=experiment().points[:1])
    point = alone.points[0]
    assert alone.seed_of(point, 4) == experiment().seed_of(point, 4)


def test_common_parameters_share_their_seeds_and_others_do_not() -> None:
    plan = experiment(common=("policy",))
    small_best, small_hide, large_best, _ = plan.points
    assert plan.seed_of(small_best, 0) == plan.seed_of(small_hide, 0)
    assert plan.seed_of(small_best, 0) != plan.seed_of(large_best, 0)
    assert plan.point_of(small_best) != plan.point_of(small_hide)


def test_a_long_point_is_cut_into_equal_replications() -> None:
    plan = experiment(
        points=grid(length=[100, 2500]), cut=Cut("length", 1000), cost=lambda point: float(point["length"])
    )
    short, long = plan.points
    assert [plan.planned(point) for point in plan.points] == [1, 3]
    runs = plan.runs(long, 0, 3)
    assert [run.parameters["length"] for run in runs] == [834] * 3
    assert [run.cost for run in runs] == pytest.approx([2500 / 3] * 3)
    assert len({run.seed for run in runs}) == 3
    assert {run.point for run in runs} == {plan.point_of(long)}
    assert plan.runs(short, 0, 1)[0].parameters == short


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Figure 4"}, "small letters"),
        ({"points": ()}, "needs a point"),
        ({"replications": 0}, "0 replications"),
        ({"precision": Precision("mean", 0.0, 5)}, "precision needs"),
        ({"common": ("polcy",)}, "Did you mean 'policy'"),
        ({"cut": Cut("lenght", 10)}, "Did you mean 'length'"),
        ({"tiny": {"node": 1}}, "Did you mean 'nodes'"),
        ({"points": grid(nodes=5) * 2}, "twice"),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused_in_one_sentence(changes: dict[str, object], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        experiment(**changes).check()
