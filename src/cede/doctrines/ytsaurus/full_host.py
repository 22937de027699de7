"""The stage for allocations of a whole GPU host: who may use it, and which nodes it may clear."""

from __future__ import annotations

import numpy as np

from cede.doctrines.ytsaurus.asks import Asks
from cede.doctrines.ytsaurus.clocks import NOT, UNSET_CLOCK
from cede.doctrines.ytsaurus.curves import EPSILON, Floats
from cede.doctrines.ytsaurus.groups import NON_PREEMPTIBLE, PREEMPTIBLE
from cede.doctrines.ytsaurus.here import Here
from cede.doctrines.ytsaurus.numbers import Numbers
from cede.doctrines.ytsaurus.settings import Tree
from cede.doctrines.ytsaurus.update import Update
from cede.model.quantities import NANO
from cede.model.times import SECOND
from cede.state.columns import NEVER, Bools, Int64s
from cede.state.state import State

GPUS = 8


def waits_long(update: Update) -> Bools:
    """Operations that may preempt and were below their share for longer than the stage asks for."""
    late = (update.op_since != UNSET_CLOCK) & (update.state.now - update.op_since > update.pools.tree.full_host.timeout)
    found: Bools = (update.op_priority > NOT) & late
    return found


def ask_for_one(asks: Asks) -> Bools:
    """Kinds that ask for a whole host."""
    found: Bools = _gpus(asks.update.state, asks.need) == GPUS
    return found


def within_share(asks: Asks, numbers: Numbers) -> Bools:
    """Kinds that keep their operation within its fair share."""
    update, owners = numbers.update, asks.operation
    total = update.totals[owners].T
    asked = numbers.usage[owners].T + asks.amount
    share = np.divide(asked, total, out=np.zeros_like(total), where=total > 0)
    found: Bools = np.all((share <= update.op_fair[owners].T + EPSILON) | (asks.amount == 0), axis=0)
    return found


def is_allowed(state: State, tree: Tree, here: Here) -> bool:
    """Whether little enough would be lost on a node, and no other whole host's work is there alone."""
    held = _gpus(state, here.amount.T)
    if ((here.group == NON_PREEMPTIBLE) & (held == GPUS)).sum() == 1:
        return False
    known = here.progress != NEVER
    seconds = np.where(known, state.now - np.where(known, here.progress, 0), 0) / SECOND
    lost = (np.maximum(seconds, 0) * held)[here.group != PREEMPTIBLE].sum()
    return bool(lost <= tree.full_host.max_penalty)


def _gpus(state: State, counts: Int64s) -> Floats:
    """How many GPUs, of whatever name, each column of these amounts has."""
    units = state.units
    gpus = [column for column in units.plain if units.names[column].endswith("gpu")]
    worth = np.array([units.nano[column] for column in gpus], np.int64)
    found: Floats = (worth @ counts[gpus]) / NANO
    return found
