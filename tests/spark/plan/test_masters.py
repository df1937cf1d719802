import pytest

from headrace.core.errors import Invalid
from headrace.spark.plan.masters import master


@pytest.mark.parametrize("url", ["local", "local[*]", "local[4]", "local[2, 3]"])
def test_local_masters_are_this_machine(url: str) -> None:
    assert master(url).local
    assert master(url).doors == ()


def test_clusters_have_doors_to_knock_at() -> None:
    assert master("spark://a:7000,b").doors == (("a", 7000), ("b", 7077))
    assert master("sc://host/;user_id=me;use_ssl=true").doors == (("host", 15002),)
    assert master("sc://host:99").connect
    assert not master("spark://a").connect
    assert master("yarn").doors == ()
    assert master("k8s://https://host:6443").doors == ()


@pytest.mark.parametrize(
    ("url", "hint"),
    [
        ("locla[2]", "Did you mean 'local[2]'"),
        ("local[0]", "no place for Spark"),
        ("local[-1]", "no place for Spark"),
        ("http://host", "no place for Spark"),
        ("", "no place for Spark"),
        ("yran", "Did you mean 'yarn'"),
        ("spark://:7077", "not HOST:PORT"),
        ("spark://host:seven", "not HOST:PORT"),
        ("sc://host:70000", "not HOST:PORT"),
    ],
)
def test_what_is_no_master_is_refused_with_what_is(url: str, hint: str) -> None:
    with pytest.raises(Invalid, match=hint.replace("[", r"\[")):
        master(url)
