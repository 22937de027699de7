"""YuniKorn as a doctrine: its parts, the shares that it shows, and a cluster file to start from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cede.doctrines.parts.doctrine import Cycle, Doctrine, Traits
from cede.doctrines.parts.limits import used_quota
from cede.doctrines.parts.starting_file import Outline, Starter
from cede.doctrines.yunikorn import laws, release_1_9
from cede.doctrines.yunikorn.ask_order import AskOrder, waiting_line
from cede.doctrines.yunikorn.audit import Audit
from cede.doctrines.yunikorn.lint import lint
from cede.doctrines.yunikorn.memory import copied, lasting
from cede.doctrines.yunikorn.question import question
from cede.doctrines.yunikorn.queues import Amounts, Queues, queues_of
from cede.doctrines.yunikorn.reservations import may_be_cancelled
from cede.doctrines.yunikorn.rules import NO_GAIN, RULES
from cede.doctrines.yunikorn.settings import DIALECT, EDITIONS, LAWS, SHIPPED
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.plan import REQUEUED, Decision
from cede.model.quantities import format_quantity
from cede.state.columns import NONE
from cede.state.state import State


def starter(outline: Outline, _edition: str) -> Starter:
    """Guarantees share evenly what is scarce; a queue below its own takes from those above theirs.

    Of one resource only: a queue that is below its guarantee of CPUs keeps its GPUs, however many it has.
    """
    main = outline.main
    leaves = []
    for name in outline.queues:
        share = {} if main is None else {main: outline.guarantee(name)[main]}
        leaves.append({"name": name, "guaranteed": share})
    return Starter(leaves)


def shares(state: State, edition: str) -> dict[str, dict[str, Any]]:
    """Queues: usage, guarantee, what remains of it as an ask of the queue sees it, and headroom, each where there is
    one. Pending workloads: their turn.
    """
    queues = queues_of(state, edition)
    turns = waiting_line(state).tolist() if edition == LAWS else list(AskOrder(state, queues).one_pass())
    return {
        "queues": {queues.names[row]: _of(state, queues, row) for row in sorted(range(queues.size), key=queues.name)},
        "apps": {},
        "workloads": {state.work_names[row]: {"turn": turn} for turn, row in enumerate(turns, 1)},
    }


def _of(state: State, queues: Queues, queue: int) -> dict[str, Any]:
    snapshot = Snapshot(state, queues, queue)
    used = used_quota(state, queue)
    rest = snapshot.remaining(queue)
    free: Amounts = {}
    path, nodes = queues.path_of(queue), state.nodes
    sums = nodes.capacity[:, : nodes.size].sum(axis=1).tolist()
    free |= {c: total - int(used_quota(state, path[-1])[c]) for c, total in enumerate(sums) if c and total > 0}
    for above in path:
        held = used_quota(state, above)
        for column, most in (queues.max[above] or {}).items():
            free[column] = min(free.get(column, most), most - int(held[column]))
    shown = {
        "usage": {column: int(used[column]) for column in np.flatnonzero(used).tolist() if column},
        "guaranteed": queues.guaranteed[queue],
        "remaining_guarantee": None if rest is None else dict(rest),
        "headroom": free or None,
    }
    return {key: _shown(state, amounts) for key, amounts in shown.items() if amounts is not None}


def _shown(state: State, amounts: Amounts) -> dict[str, int | str]:
    names = state.units.names
    ordered = sorted(amounts, key=names.__getitem__)
    return {names[column]: format_quantity(state.units.limit(column, amounts[column])) for column in ordered}


def decide(cycle: Cycle) -> Iterator[Decision]:
    """One cycle under the edition asked for."""
    return laws.decide(cycle) if cycle.edition == LAWS else release_1_9.decide(cycle)


def fate(_state: State, _edition: str, _row: int) -> str:
    """What is preempted is deleted, and what owns it makes it anew: it queues again."""
    return REQUEUED


def takes_cordoned(state: State, edition: str, row: int) -> bool:
    """Release 1.9 does not look whether a node takes new work where an ask needs that node and no other."""
    return edition == SHIPPED and bool(state.work.required_node[row] != NONE)


DOCTRINE = Doctrine(
    dialect=DIALECT,
    title="YuniKorn: guaranteed queues, fences and the seven laws of preemption",
    rules=RULES,
    decide=decide,
    fate=fate,
    audit=Audit,
    traits=Traits(
        exact=frozenset({LAWS}),
        falls_short=NO_GAIN.id,
    ),
    shares=shares,
    incremental=frozenset(EDITIONS),
    lint=lint,
    lasting=lasting,
    copied=copied,
    cancels=lambda state, edition, node, claimant: edition == SHIPPED and may_be_cancelled(state, node, claimant),
    takes_cordoned=takes_cordoned,
    question=question,
    starter=starter,
)
