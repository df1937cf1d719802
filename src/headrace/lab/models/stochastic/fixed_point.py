"""Fixed points of smooth maps by damped iteration with Anderson's mixing, and roots by bracketing.

Plain iteration diverges where requests block often (the paper's "did not converge"). Mixing the last few steps takes
the usual case to its solution in a dozen of them; where even that circles, bracketing finds the solution.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TOLERANCE = 1e-9
CONVERGED = 1e-7
"""A residual that is as good as none: what bracketing leaves where rounding is magnified."""
MEMORY = 5
LONGEST_STEP = 2.0
"""In the logarithms that are iterated on."""


def fixed_point(step: Callable[[Floats], Floats], start: Floats, *, most: int) -> tuple[Floats, float]:
    """A point x with step(x) = x, and the largest residual left."""
    x = start
    xs: list[Floats] = []
    changes: list[Floats] = []
    best = (np.inf, x)
    damping = 1.0
    for _ in range(most):
        change = step(x) - x
        residual = float(np.abs(change).max())
        if residual < best[0]:
            best = (residual, x)
        if residual < TOLERANCE:
            return x, residual
        if residual > 4 * best[0] and len(xs) > 1:
            damping = max(damping / 2, 0.02)
            xs, changes = [], []
        xs, changes = [*xs[-MEMORY:], x], [*changes[-MEMORY:], change]
        x = x + np.clip(_mixed(xs, changes, damping) - x, -LONGEST_STEP, LONGEST_STEP)
    return best[1], best[0]


def damped(step: Callable[[Floats], Floats], start: Floats) -> Floats:
    """Where small steps towards step(x) lead: slow, and steady where mixing is not."""
    x = start
    for damping in (0.3, 0.1, 0.03):
        for _ in range(round(100 / damping)):
            change = step(x) - x
            if float(np.abs(change).max()) < TOLERANCE:
                return x
            x = x + damping * np.clip(change, -LONGEST_STEP, LONGEST_STEP)
    return x


def _mixed(xs: list[Floats], changes: list[Floats], damping: float) -> Floats:
    """The next point: that combination of the last ones whose combined change is least, moved by that change."""
    x, change = xs[-1], changes[-1]
    if len(xs) == 1:
        return x + damping * change
    step_differences = np.stack([x - other for other in xs[:-1]], axis=1)
    change_differences = np.stack([change - other for other in changes[:-1]], axis=1)
    weights, *_ = np.linalg.lstsq(change_differences, change, rcond=1e-12)
    return np.asarray(x + damping * change - (step_differences + damping * change_differences) @ weights)


def bracketed(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing `function` crosses 0 between `low` and `high`, or the end that is nearer to it.

    Chandrupatla (1997): inverse quadratic interpolation where that is safe, else bisection.
    """
    a, b = high, low
    fa, fb = function(a), function(b)
    if fa <= 0 or fb >= 0:
        return a if fa <= 0 else b
    share = 0.5
    for _ in range(200):
        x = a + share * (b - a)
        fx = function(x)
        if (fx > 0) == (fa > 0):
            c, fc = a, fa
        else:
            c, fc = b, fb
            b, fb = a, fa
        a, fa = x, fx
        best = a if abs(fa) < abs(fb) else b
        tolerance = 1e-12 * (1 + abs(best))
        if fx == 0 or abs(b - a) < 2 * tolerance:
            return best
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        if phi**2 < xi and (1 - phi) ** 2 < 1 - xi:
            share = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        else:
            share = 0.5
        least = tolerance / abs(b - a)
        share = min(max(share, least), 1 - least)
    return best


def bracketed_near(function: Callable[[float], float], guess: float, low: float, high: float) -> float:
    """The same, where a guess is likely to be near."""
    width = 0.25
    while width < high - low:
        left, right = max(low, guess - width), min(high, guess + width)
        if function(left) < 0 < function(right):
            return bracketed(function, left, right)
        width *= 8
    return bracketed(function, low, high)
