"""How an element stands to its fair share: satisfaction, and whether it is below. One row an element."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.state.columns import Bools

INFINITE = 1e9
LARGE = 1e-4


def dominates(more: Floats, less: Floats, fair: Floats, demand: Floats) -> Bools:
    """Whether one vector is above the other where it matters: in every resource of which the demand is not covered, or,
    if all is covered, in any.
    """
    blocked = fair >= demand - EPSILON
    above = more > less + EPSILON
    found: Bools = np.where(blocked.all(axis=-1), above.any(axis=-1), (above | blocked).all(axis=-1))
    return found


def satisfaction(usage: Floats, fair: Floats, demand: Floats) -> Floats:
    """Usage by fair share, as one number: at least 1 if some resource is above its share."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(fair > 0, usage / fair, np.where(usage > EPSILON, INFINITE, 0.0))
    over = (usage > fair + EPSILON).any(axis=1)
    blocked = fair >= demand - EPSILON
    least = np.where(fair > 0, ratio, 1.0).min(axis=1, initial=INFINITE)
    open_ = ~blocked & (fair > 0)
    most = np.where(open_, ratio, 0.0).max(axis=1, initial=0.0)
    found = np.where(blocked.all(axis=1), least, most)
    found = np.where(over, ratio.max(axis=1, initial=0.0), found)
    found[(fair <= EPSILON).all(axis=1)] = INFINITE
    result: Floats = np.minimum(found, INFINITE)
    return result


def below_share(usage: Floats, fair: Floats, demand: Floats, tolerance: Floats) -> Bools:
    """Whether usage is below the fair share by more than the tolerance of each."""
    bound = np.minimum(fair * tolerance[:, None], demand)
    return dominates(bound, usage, fair, demand)


def covered(fair: Floats, demand: Floats) -> Bools:
    """Whether the fair share is as good as all of the demand, so that there is nothing to tolerate."""
    found: Bools = np.all(fair + LARGE >= demand, axis=1)
    return found
