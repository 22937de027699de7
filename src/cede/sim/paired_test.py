"""Whether paired differences are more than chance: Student's t for a pair of runs, Holm's correction for several.

W. S. Gosset, The probable error of a mean (1908); S. Holm, A simple sequentially rejective multiple test procedure
(1979). The t test and not Wilcoxon's: with five pairs the smallest p of a signed-rank test is 0.0625, so that it could
never tell anything at 5 %.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, isclose, lgamma, log, log1p
from statistics import fmean, stdev

LEVEL = 0.05
LEAST = 5
"""Pairs below which nothing is said."""
_STEPS = 300
_TINY = 1e-300


def chance(differences: Sequence[float]) -> float | None:
    """How likely a mean at least so far from 0 is if nothing but chance moves these differences; two-sided.

    None with fewer than two of them.
    """
    if len(differences) < 2:
        return None
    mean, spread = fmean(differences), stdev(differences)
    if isclose(mean, 0.0, abs_tol=1e-12):
        return 1.0
    if spread <= 1e-12 * abs(mean):
        return 0.0
    freedom = len(differences) - 1
    squared = mean * mean / (spread * spread / len(differences))
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + squared))


def told_apart(chances: Mapping[str, float], level: float = LEVEL) -> frozenset[str]:
    """Those of several comparisons in which chance is ruled out, so that all of them together are wrong this rarely."""
    apart = set()
    ordered = sorted(chances, key=lambda name: (chances[name], name))
    for place, name in enumerate(ordered):
        if chances[name] > level / (len(ordered) - place):
            break
        apart.add(name)
    return frozenset(apart)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz's way to compute it)."""
    if x <= 0.0 or x >= 1.0:
        return min(max(x, 0.0), 1.0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - incomplete_beta(b, a, 1.0 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)) / a
    c, d = 1.0, 1.0 / _apart(1.0 - (a + b) * x / (a + 1))
    fraction = d
    for step in range(1, _STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            d = 1.0 / _apart(1.0 + term * d)
            c = _apart(1.0 + term / c)
            fraction *= c * d
        if isclose(c * d, 1.0, rel_tol=1e-14):
            break
    return front * fraction


def _apart(value: float) -> float:
    """The value, or next to nothing where it is nothing: it will be divided by."""
    return value if abs(value) > _TINY else _TINY
