"""Where an ask of edition 1.9 may look for victims: the fence root, and up to which priority in each leaf."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.limits import used_quota
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.queues import Amounts, Queues, total_capacity
from cede.doctrines.yunikorn.seven_laws import by_queue, looked_at
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.doctrines.yunikorn.sparse_amounts import least
from cede.doctrines.yunikorn.wording import Ranks
from cede.model.rules import Rule
from cede.state.columns import NONE, RESERVED, Int64s
from cede.state.state import State

ANY = 1 << 40
"""A threshold above every priority: the whole subtree is open."""


@dataclass(slots=True)
class Fence:
    """By queue, the highest priority that may be taken there (`most`), or the rule that closes it."""

    fence: int
    most: dict[int, int] = field(default_factory=dict)
    closed: dict[int, Rule] = field(default_factory=dict)
    behind: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Queues behind a priority fence that is above the claimant: that fence, and what the claimant counts there."""


def short_at_root(state: State, queues: Queues, ask: Ask) -> Amounts:
    """What the ask lacks of the nodes' total capacity; types that no node has are not looked at."""
    path = queues.path_of(ask.leaf)
    if not path or not state.nodes.size:
        return {}
    used = used_quota(state, path[-1]) if len(state.partitions.names) == 1 else _held_in(state, ask)
    return {
        column: short
        for column, most in total_capacity(state, int(state.work.partition[ask.row])).items()
        if column in ask.amounts and (short := int(used[column]) + ask.amounts[column] - most) > 0
    }


def _held_in(state: State, ask: Ask) -> Int64s:
    """What is held of the nodes of the claimant's partition, where queues of others are in the same tree."""
    work, size = state.work, state.work.size
    here = (work.state[:size] >= RESERVED) & (work.partition[:size] == work.partition[ask.row])
    held: Int64s = work.usage[:, :size][:, here].sum(axis=1)
    return held


def reach_of(state: State, queues: Queues, snapshot: Snapshot, ask: Ask) -> Fence:
    """Up from the asking leaf to the fence root, keeping the priority on each level, and down again into every leaf."""
    path = queues.path_of(ask.leaf)
    if not path:
        return Fence(NONE)
    ladder = _ladder(state, queues, ask)
    fence = Fence(list(ladder)[-1])
    below = [(fence.fence, ladder[fence.fence], False)]
    busy: list[bool] = np.any(state.tree.usage[:, : queues.size], axis=0).tolist()
    while below:
        queue, most, open_ = below.pop()
        if queue == ask.leaf:
            fence.closed[queue] = rules.OWN_QUEUE
        elif queues.properties[queue].disabled:
            fence.closed[queue] = rules.OFF_LIMITS
        elif _content(snapshot, queue):
            fence.closed[queue] = rules.LAW_5
        fence.most[queue] = ANY if open_ else most
        for child in queues.children[queue]:
            if not busy[child]:
                continue
            properties = queues.properties[child]
            if child in ladder:
                below.append((child, ladder[child], open_))
            elif not properties.priority_fence:
                below.append((child, most - properties.offset, open_))
            elif properties.offset <= most:
                below.append((child, most, True))
            else:
                fence.closed |= dict.fromkeys(queues.inside(child), rules.LAW_6)
                fence.behind |= dict.fromkeys(queues.inside(child), (child, most))
    return fence


def ranks_of(state: State, queues: Queues, reach: Fence, ask: Ask) -> Ranks:
    """How priorities compare where a candidate is: as they are, or as offsets and priority fences make them."""
    work = state.work
    plain = int(work.priority[ask.row])

    def ranks(row: int) -> dict[str, object]:
        queue, own = int(work.queue[row]), int(work.priority[row])
        fence, most = reach.behind.get(queue, (NONE, reach.most.get(queue, plain)))
        offset = queues.properties[fence].offset if fence != NONE else 0
        return {
            "rank": own if fence == NONE else f"{own}, {offset} behind the priority fence of {queues.name(fence)},",
            "claimant_rank": plain if most == plain else f"{plain}, which counts as {most} there",
        }

    return ranks


def _ladder(state: State, queues: Queues, ask: Ask) -> dict[int, int]:
    """The priority of the ask as each queue above it sees it, up to the fence root."""
    path = queues.path_of(ask.leaf)
    ceilings = _effective_max(state, queues, ask)
    priority = int(state.work.priority[ask.row])
    ladder: dict[int, int] = {}
    for queue in path:
        properties = queues.properties[queue]
        priority = properties.offset if properties.priority_fence else priority + properties.offset
        ladder[queue] = priority
        used, most = used_quota(state, queue), ceilings[queue]
        if properties.fence or any(used[c] + ask.amounts.get(c, 0) > limit for c, limit in most.items()):
            break
    return ladder


def _effective_max(state: State, queues: Queues, ask: Ask) -> dict[int, Amounts]:
    """For each queue on the path the least of its own limit and of all above it; the root's is what the nodes have."""
    limits: dict[int, Amounts] = {}
    most: Amounts | None = total_capacity(state, int(state.work.partition[ask.row])) if state.nodes.size else None
    for queue in reversed(queues.path_of(ask.leaf)):
        smaller = least(queues.max[queue], most)
        most = None if smaller is None else dict(smaller)
        limits[queue] = most or {}
    return limits


def _content(snapshot: Snapshot, queue: int) -> bool:
    """Whether nothing remains below zero of any guarantee on the queue's path."""
    rest = snapshot.remaining(queue)
    return rest is not None and all(amount >= 0 for amount in rest.values())


def candidates(state: State, queues: Queues, reach: Fence, ask: Ask) -> Candidates:
    """All that hold room; the first rule that protects one is its verdict."""
    work, size = state.work, state.work.size
    own = work.queue[:size]
    most = np.full(queues.size + 1, -ANY, np.int64)
    most[list(reach.most)] = list(reach.most.values())
    outside = np.ones(queues.size + 1, np.bool_)
    outside[[*reach.most, *reach.closed]] = False
    candidates = looked_at(state, ask, work.state[:size])
    candidates.protect(*by_queue(queues, reach.closed, own)(rules.OWN_QUEUE, rules.OFF_LIMITS, rules.LAW_5))
    candidates.protect((rules.LAW_7, outside[own]))
    candidates.protect((rules.LAW_6, work.priority[:size] > most[own]))
    return candidates
