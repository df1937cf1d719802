"""The random streams: the published algorithm, its moments, and independence of named streams."""

import numba as nb
import numpy as np
import pytest

from headrace.lab.kernels.stream import Stream, below, bits, exponential, stream, uniform


@nb.njit
def _draw(state: Stream, count: int, bound: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    raw = np.empty(count, dtype=np.uint64)
    units = np.empty(count)
    whole = np.empty(count, dtype=np.int64)
    times = np.empty(count)
    for i in range(count):
        raw[i] = bits(state)
        units[i] = uniform(state)
        whole[i] = below(state, bound)
        times[i] = exponential(state, 4.0)
    return raw, units, whole, times


def _xoshiro(state: list[int], count: int) -> list[int]:
    """xoshiro256** as its authors print it, in whole numbers."""
    mask = (1 << 64) - 1

    def rotl(x: int, k: int) -> int:
        return ((x << k) | (x >> (64 - k))) & mask

    out = []
    for _ in range(count):
        out.append((rotl((state[1] * 5) & mask, 7) * 9) & mask)
        t = (state[1] << 17) & mask
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = rotl(state[3], 45)
    return out


def test_bits_are_those_of_the_published_algorithm() -> None:
    state = stream(7, "arrivals")
    expected = _xoshiro([int(word) for word in state], 40)
    raw, *_ = _draw(state, 10, 5)
    assert [int(word) for word in raw] == expected[::4]


def test_draws_have_their_moments() -> None:
    _, units, whole, times = _draw(stream(1), 200_000, 7)
    # six standard errors each
    assert units.mean() == pytest.approx(0.5, abs=6 * (1 / 12) ** 0.5 / 200_000**0.5)
    assert 0 <= units.min() < units.max() < 1
    assert times.mean() == pytest.approx(4.0, abs=6 * 4 / 200_000**0.5)
    counts = np.bincount(whole, minlength=7)
    assert len(counts) == 7
    assert counts == pytest.approx(200_000 / 7, abs=6 * (200_000 / 7) ** 0.5)


def test_streams_are_repeatable_and_differ_by_seed_and_by_name() -> None:
    first = stream(3, "service", 0)
    assert (first == stream(3, "service", 0)).all()
    others = [stream(4, "service", 0), stream(3, "service", 1), stream(3, "arrivals", 0), stream(3)]
    assert all((first != other).all() for other in others)


def test_named_streams_of_one_seed_are_uncorrelated() -> None:
    _, a, _, _ = _draw(stream(5, "a"), 100_000, 2)
    _, b, _, _ = _draw(stream(5, "b"), 100_000, 2)
    assert abs(np.corrcoef(a, b)[0, 1]) < 6 / 100_000**0.5
