"""How an element stands to its fair share: satisfaction, and whether it is below. One row an element."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, Floats, across
from cede.state.columns import Bools

INFINITE = 1e9
LARGE = 1e-4


def dominates(more: Floats, less: Floats, fair: Floats, demand: Floats) -> Bools:
    """Whether one vector is above the other where it matters: in every resource of which the demand is not covered, or,
    if all is covered, in any.
    """
    blocked = across(fair >= demand - EPSILON)
    above = across(more > less + EPSILON)
    mask: Bools = np.where(blocked.all(axis=0), above.any(axis=0), (above | blocked).all(axis=0))
    return mask


def satisfaction(usage: Floats, fair: Floats, demand: Floats) -> Floats:
    """Usage by fair share, as one number: at least 1 if some resource is above its share."""
    usage, fair, demand = across(usage), across(fair), across(demand)
    some = fair > 0
    ratio = np.where(usage > EPSILON, INFINITE, 0.0)
    np.divide(usage, fair, out=ratio, where=some)
    blocked = fair >= demand - EPSILON
    least = np.where(some, ratio, 1.0).min(axis=0, initial=INFINITE)
    most = np.where(some & ~blocked, ratio, 0.0).max(axis=0, initial=0.0)
    ratios = np.where(blocked.all(axis=0), least, most)
    ratios = np.where((usage > fair + EPSILON).any(axis=0), ratio.max(axis=0, initial=0.0), ratios)
    ratios[(fair <= EPSILON).all(axis=0)] = INFINITE
    result: Floats = np.minimum(ratios, INFINITE)
    return result


def below_share(usage: Floats, fair: Floats, demand: Floats, tolerance: Floats) -> Bools:
    """Whether usage is below the fair share by more than the tolerance of each."""
    bound = np.minimum(fair * tolerance[:, None], demand)
    return dominates(bound, usage, fair, demand)


def covered(fair: Floats, demand: Floats) -> Bools:
    """Whether the fair share is as good as all of the demand, so that there is nothing to tolerate."""
    mask: Bools = np.all(across(fair + LARGE >= demand), axis=0)
    return mask
