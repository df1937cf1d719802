import pytest

from headrace.spark.plan.sizes import GIB, local_settings


@pytest.mark.parametrize(("memory_gib", "heap"), [(1, "1024m"), (6, "1536m"), (24, "6144m"), (512, "8192m")])
def test_spark_takes_a_quarter_of_the_memory_within_bounds(memory_gib: int, heap: str) -> None:
    assert local_settings(cores=2, memory_bytes=memory_gib * GIB)["spark.driver.memory"] == heap


def test_a_local_spark_is_not_reachable_from_elsewhere() -> None:
    settings = local_settings(cores=4, memory_bytes=8 * GIB)
    assert settings["spark.driver.bindAddress"] == settings["spark.driver.host"] == "127.0.0.1"
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.sql.shuffle.partitions"] == "8"
