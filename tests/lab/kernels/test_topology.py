"""Named networks and networks from files: their links, and what is refused."""

from pathlib import Path

import pytest

from headrace.core.errors import Invalid
from headrace.lab.kernels.topology import Network, alone, network


def _links(net: Network) -> set[tuple[int, int]]:
    return {
        (k, int(head))
        for k in range(net.clusters)
        for head in net.heads[net.first_edge[k] : net.first_edge[k + 1]]
        if k < head
    }


@pytest.mark.parametrize(
    ("topology", "clusters", "links"),
    [
        ("ring:1", 1, set()),
        ("ring:2", 2, {(0, 1)}),
        ("ring:5", 5, {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)}),
        ("chords:4", 4, {(0, 1), (1, 2), (2, 3), (0, 3), (0, 2), (1, 3)}),
        ("chords:5", 5, {(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (0, 2), (1, 3)}),
        ("star:4", 4, {(0, 1), (0, 2), (0, 3)}),
        ("complete:4", 4, {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}),
        ("grid:2x3", 6, {(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)}),
    ],
)
def test_a_shape_has_its_links(topology: str, clusters: int, links: set[tuple[int, int]]) -> None:
    net = network(topology)
    assert net.clusters == clusters
    assert _links(net) == links


@pytest.mark.parametrize("topology", ["ring:20", "chords:9", "star:7", "complete:8", "grid:4x5"])
def test_every_edge_knows_its_opposite(topology: str) -> None:
    net = network(topology)
    for k in range(net.clusters):
        for edge in range(net.first_edge[k], net.first_edge[k + 1]):
            back = net.backward[edge]
            assert net.heads[back] == k
            assert net.backward[back] == edge
            assert net.first_edge[net.heads[edge]] <= back < net.first_edge[net.heads[edge] + 1]


def test_a_file_lists_links_one_a_line(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("# two sites and an outpost\n0 1\n2 1   # over the sea\n\n")
    assert _links(network(str(path))) == {(0, 1), (1, 2)}


def test_a_cluster_left_out_of_the_file_is_lonely(tmp_path: Path) -> None:
    path = tmp_path / "links.txt"
    path.write_text("0 1\n3 1\n")
    assert network(str(path)).lonely() == 2
    assert network("ring:3").lonely() is None
    assert alone(2).lonely() == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no links"),
        ("0 1 2\n", "line 1 of .* is '0 1 2': a link is two cluster numbers"),
        ("0 1\n0 x\n", "line 2 of .* is '0 x'"),
        ("0 -1\n", "line 1"),
        ("4 4\n", "links cluster 4 to itself"),
        ("0 1\n1 0\n", "links clusters 0 and 1 twice"),
        (f"0 {'9' * 5000}\n", "line 1"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_by_line(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "links.txt"
    path.write_text(text)
    with pytest.raises(Invalid, match=sentence):
        network(str(path))


@pytest.mark.parametrize(
    "topology",
    [
        *("ring", "ring:", "ring:0", "ring:five", "ring:-3", "ring:1e3", "ring:200000"),
        *("grid:4", "grid:4x", "grid:0x3", "grid:2x3x4", "grid:1000x1000"),
        *("complete:3000", "tree:7", "", "no/such/file"),
    ],
)
def test_a_shape_that_makes_no_sense_is_refused(topology: str) -> None:
    with pytest.raises(Invalid, match="--topology is "):
        network(topology)
