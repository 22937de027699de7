"""The dry run of default preemption: on each node all of lower priority go, then what need not go stays.

Workloads that are leaving are looked at like those that run, for kube-scheduler does not tell them apart; who is among
the victims and leaving already is waited for. Room that is held for others, their nominated node, counts if they have
the claimant's priority or a higher one; what is held for lower ones is theirs only if it is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cede.doctrines.kubernetes.budgets import Budget, broken_by, budgets_of
from cede.doctrines.kubernetes.rules import BREAKS_BUDGET
from cede.doctrines.kubernetes.score import best_node
from cede.doctrines.kubernetes.settings import KubernetesSettings
from cede.doctrines.parts.assembled import Choice, by_priority, taken_in_order
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cover import VictimOrder
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import feasible, place
from cede.doctrines.parts.limits import nodes_over
from cede.doctrines.parts.orders import nodes_by, tie_break
from cede.model.plan import Warning
from cede.state.columns import NEVER, PREEMPTING, RESERVED, RUNNING, Bools, Int64s
from cede.state.state import State
from cede.state.trial import Trial

SHIFT = 2**31
"""Added to every priority before they are summed, so that fewer of a negative one are not more than many."""
ENOUGH, SHARE = 100, 10
"""How many nodes with victims are enough, or one in SHARE of all if that is more; kube-scheduler begins anywhere."""


@dataclass(frozen=True, slots=True)
class Site:
    """One node, and who must go there. `victims` are by importance; `displaced` have room held there and no more."""

    node: int
    victims: tuple[int, ...]
    displaced: tuple[int, ...]
    breaks: dict[int, Budget]


def places(state: State, claim: Claim, _settings: KubernetesSettings) -> list[int] | None:
    """The node with the most points of those with room; several members go where they fit best, all or none.

    Not if the room there is held for somebody of a lower priority, who loses it then: that is told as a preemption.
    """
    if not claim.single or claim.need is None:
        return place(state, claim)
    nodes = np.flatnonzero(feasible(claim, claim.need, without_lower_nominations(state, claim)))
    if not len(nodes):
        return None
    best = best_node(state, claim.need, nodes)
    there = state.nodes.free[:, best] >= claim.need
    return [best] if there[claim.columns].all() else None


def without_lower_nominations(state: State, claim: Claim) -> Int64s:
    """What is free on each node to this claimant: room held for a lower priority is."""
    work, residents = state.work, state.residents
    free: Int64s = state.nodes.free[:, : state.nodes.size]
    lower = work.priority[: work.size] < work.priority[claim.row]
    held = (work.state[: work.size] == RESERVED) & lower & work.preemptible[: work.size]
    if not held.any():
        return free
    live = residents.count[: residents.size] > 0
    rows = np.flatnonzero(live & held[residents.work[: residents.size]])
    free = free.copy()
    for column in range(len(free)):
        np.add.at(free[column], residents.node[rows], residents.amount[column, rows])
    return free


def leaves(trial: Trial, row: int) -> None:
    """Its room stays taken until it has left; whose room was only held for it, loses that at once."""
    if trial.state.work.state[row] == RESERVED:
        trial.evict(row)
    else:
        trial.tell_to_leave(row)


def search(cycle: Cycle, claim: Claim, settings: KubernetesSettings, open_: Bools) -> Choice | None:
    """Who goes, and from which node; several members together are no pod, and take who is lowest wherever it stands."""
    state = cycle.state
    if not claim.single or claim.need is None:
        running = open_ & (state.work.state[: state.work.size] == RUNNING)
        return taken_in_order(cycle, claim, running, gang_order(state, settings), [])
    budgets = budgets_of(state, settings)
    nodes = np.flatnonzero(feasible(claim, claim.need, without_lower_nominations(state, claim)))
    if len(nodes):
        return _displacing(state, claim, claim.need, best_node(state, claim.need, nodes), open_)
    sites = dry_run(state, claim, claim.need, open_, budgets)
    if not sites:
        return None
    site = chosen(state, sites)
    if nodes_over(state, claim.row, [site.node]) is not None:
        return None
    awaited = [row for row in site.victims if state.work.state[row] == PREEMPTING]
    told = [row for row in site.victims if state.work.state[row] != PREEMPTING]
    names = state.work_names
    warnings = tuple(
        Warning(BREAKS_BUDGET.id, BREAKS_BUDGET.because(victim=names[row], budget=budget.name, allowed=budget.allowed))
        for row, budget in site.breaks.items()
        if row in told
    )
    more = f"; of {len(sites)} nodes it is {why_here(state, sites, site)}" if len(sites) > 1 else ""
    return Choice([*told, *site.displaced], [site.node], awaited, warnings, more)


def _displacing(state: State, claim: Claim, need: Int64s, node: int, open_: Bools) -> Choice | None:
    """It starts as if nobody of a lower priority were to come there; who finds no room beside it looks elsewhere."""
    held = open_ & (state.work.state[: state.work.size] == RESERVED)
    residents = [at for at in state.node_residents[node] if held[state.residents.work[at]]]
    site = on_node(state, claim, need, node, residents, [])
    if site is None or nodes_over(state, claim.row, [node]) is not None:
        return None
    return Choice(site.displaced, [node])


def gang_order(state: State, settings: KubernetesSettings) -> VictimOrder:
    """Those whose going alone breaks a budget last, then the lowest priority first, of equals the latest start."""
    order = by_priority(state, settings)
    shut = np.zeros(state.work.size, np.int64)
    for budget in budgets_of(state, settings):
        if not budget.allowed:
            shut[list(budget.covers)] = 1
    keys = np.stack([order.first.astype(np.int64), order.second.astype(np.int64)], axis=1)
    ranks = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
    return VictimOrder(shut, ranks)


def dry_run(state: State, claim: Claim, need: Int64s, open_: Bools, budgets: list[Budget]) -> list[Site]:
    """Every node that would have room if some of these went, up to ENOUGH of them, by name."""
    residents, size = state.residents, state.nodes.size
    live = residents.count[: residents.size] > 0
    rows = np.flatnonzero(live & open_[residents.work[: residents.size]])
    rows = rows[claim.allowed[residents.node[rows]]]
    on = residents.node[rows]
    could = np.zeros(size, np.bool_)
    could[on] = True
    for column in claim.columns:
        freed = np.zeros(size, np.int64)
        np.add.at(freed, on, residents.amount[column, rows])
        could &= state.nodes.free[column, :size] + freed >= need[column]
    nodes = nodes_by(state, np.flatnonzero(could))
    here: dict[int, list[int]] = {node: [] for node in nodes.tolist()}
    for resident, node in zip(rows.tolist(), on.tolist(), strict=True):
        if node in here:
            here[node].append(resident)
    most = max(ENOUGH, size // SHARE)
    sites: list[Site] = []
    for node in nodes.tolist():
        site = on_node(state, claim, need, node, here[node], budgets)
        if site is not None:
            sites.append(site)
        if len(sites) >= most and any(not one.breaks for one in sites):
            break
    return sites


def on_node(
    state: State, claim: Claim, need: Int64s, node: int, residents: Sequence[int], budgets: list[Budget]
) -> Site | None:
    """Who must go from this node, if somebody must; all of these could."""
    table, columns, work = state.residents, claim.columns, state.work
    amounts = {int(table.work[resident]): table.amount[columns, resident] for resident in residents}
    slack = state.nodes.free[columns, node] - need[columns] + sum(amounts.values())
    last = tie_break(state)
    everybody = sorted(amounts, key=lambda row: (-int(work.priority[row]), int(work.started[row]), last(row)))
    pods = [row for row in everybody if work.state[row] != RESERVED]
    breaks = broken_by(state, budgets, pods)
    gone = set()
    held = [row for row in everybody if work.state[row] == RESERVED]
    for row in (*breaks, *(row for row in pods if row not in breaks), *held):
        without = slack - amounts[row]
        if (without >= 0).all():
            slack = without
        else:
            gone.add(row)
    if not gone:
        return None
    return Site(
        node,
        tuple(row for row in pods if row in gone),
        tuple(row for row in held if row in gone),
        {row: budget for row, budget in breaks.items() if row in gone},
    )


CRITERIA = (
    "the one that breaks the fewest disruption budgets",
    "the one whose victims' highest priority is lowest",
    "the one with the smallest sum of priorities",
    "the one with the fewest victims",
    "the one whose most important victims started last",
    "the first by name of equals",
)


def measures(state: State, site: Site) -> tuple[int, ...]:
    """What nodes are compared by, the least first; each member of a victim is one pod."""
    work, rows = state.work, site.victims
    if not rows:
        return (0, -SHIFT, 0, 0, -NEVER)
    priorities = [int(work.priority[row]) for row in rows]
    members = [int(work.members[row]) for row in rows]
    highest = max(priorities)
    first = min(int(work.started[row]) for row in rows if work.priority[row] == highest)
    return (
        len(site.breaks),
        highest,
        sum((priority + SHIFT) * count for priority, count in zip(priorities, members, strict=True)),
        sum(members),
        -first,
    )


def chosen(state: State, sites: list[Site]) -> Site:
    """The node that is preempted on; sites are by name."""
    return min(sites, key=lambda site: measures(state, site))


def why_here(state: State, sites: list[Site], site: Site) -> str:
    """The first criterion by which no other node is as good."""
    left = list(sites)
    for at, words in enumerate(CRITERIA[:-1]):
        least = measures(state, site)[at]
        left = [one for one in left if measures(state, one)[at] == least]
        if len(left) == 1:
            return words
    return CRITERIA[-1]
