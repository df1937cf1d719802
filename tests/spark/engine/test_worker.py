import threading
from pathlib import Path

import pytest

from headrace.spark.engine import worker
from headrace.spark.engine.worker import work_off
from headrace.spark.plan.experiment import Experiment, grid
from headrace.spark.plan.orders import Outcome, order, read_outcomes


def outcomes(experiment: Experiment) -> list[Outcome]:
    runs = [run for point in experiment.points for run in experiment.runs(point, 0, experiment.planned(point))]
    return read_outcomes(work_off(order(experiment, runs)))


def test_each_run_has_an_outcome_whatever_happens() -> None:
    points = (*grid(nodes=5, noise=1.0, fails=[False, True]), {"nodes": "five", "noise": None, "fails": False})
    fine, failed, odd = outcomes(Experiment(kernel="tests.spark.kernels.noise", points=points))
    assert set(fine.metrics) == {"mean", "bins.0", "bins.1"}
    assert fine.metrics["mean"][1] == 0.25
    assert failed.error == "ArithmeticError: asked to fail"
    assert odd.error.startswith("TypeError")


def test_a_metric_that_the_kernel_does_not_measure_fails_the_run() -> None:
    (outcome,) = outcomes(
        Experiment(
            kernel="tests.spark.kernels.noise", points=grid(nodes=5, noise=1.0, fails=False), metrics=("median",)
        )
    )
    assert "measures no 'median'" in outcome.error


def test_a_worker_begins_with_one_tiny_run_alone_on_its_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    from tests.spark.kernels import counting

    counting.calls.clear()
    experiment = Experiment(
        kernel="tests.spark.kernels.counting", points=grid(length=[100, 200]), replications=2, tiny={"length": 1}
    )
    with worker._alone(experiment.kernel):
        other = threading.Thread(target=outcomes, args=(experiment,))
        other.start()
        other.join(0.2)
        assert counting.calls == []
    other.join()
    assert counting.calls == [1, 100, 100, 200, 200]
    outcomes(experiment)
    assert counting.calls.count(1) == 1
