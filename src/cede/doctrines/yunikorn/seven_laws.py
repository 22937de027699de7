"""Law 2 as numbers: how much each queue may lose before it is under one of its guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.rules import Rule
from cede.state.columns import NONE, RESERVED, RUNNING, Bools, Int32s, Int64s
from cede.state.state import State

PLENTY = 1 << 61


@dataclass(slots=True)
class Slack:
    """Pairs of queue and type with what may go there; by victim leaf, the pairs on its path below the common ancestor.

    `least` has, by column and leaf, the least of them: no victim larger than that is lawful alone.
    """

    pairs: list[tuple[int, int, int]] = field(default_factory=list)
    of_leaf: dict[int, list[int]] = field(default_factory=dict)
    under: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Leaves below a queue that is under its guarantee already, and that queue and type."""
    least: dict[int, Int64s] = field(default_factory=dict)


def slack_of(queues: Queues, snapshot: Snapshot, leaves: Iterable[int]) -> Slack:
    """For each of these leaves, seen from the asking leaf."""
    slack = Slack()
    known: dict[int, list[int]] = {}
    for leaf in leaves:
        own: list[int] = []
        for queue in queues.below_common(leaf, snapshot.leaf):
            if queue not in known:
                used = snapshot.used(queue)
                known[queue] = []
                for column, amount in queues.guarantee(queue).items():
                    known[queue].append(len(slack.pairs))
                    slack.pairs.append((queue, column, used[column] - amount))
            own += known[queue]
        slack.of_leaf[leaf] = own
        for pair in own:
            queue, column, left = slack.pairs[pair]
            if left < 0:
                slack.under.setdefault(leaf, (queue, column))
            if column not in slack.least:
                slack.least[column] = np.full(queues.size + 1, PLENTY, np.int64)
            slack.least[column][leaf] = min(int(slack.least[column][leaf]), left)
    return slack


@dataclass(frozen=True, slots=True)
class LawfulCandidates:
    """All that was looked at for one ask, and how much may go of each queue."""

    candidates: Candidates
    slack: Slack
    fence: int
    closed: dict[int, Rule]
    """Queues in which nothing may be taken, and by which rule."""


def lawful_candidates(state: State, queues: Queues, snapshot: Snapshot, ask: Ask) -> LawfulCandidates:
    """The candidates of an ordinary claimant."""
    work, size = state.work, state.work.size
    fence, measured = queues.fence(ask.leaf), owed(queues, snapshot, ask.leaf, ask.amounts)[0]
    busy = np.flatnonzero(state.tree.usage[:, : queues.size].any(axis=0)).tolist()
    closed = {
        queue: rule for queue in busy if (rule := _closed(queues, snapshot, ask, fence, measured, queue)) is not None
    }
    slack = slack_of(queues, snapshot, [queue for queue in busy if queue not in closed])
    closed |= dict.fromkeys(slack.under, rules.LAW_2)
    own = work.queue[:size]
    candidates = looked_at(state, ask, work.state[:size])
    shut = by_queue(queues, closed, own)
    candidates.protect(*shut(rules.OWN_QUEUE, rules.LAW_7, rules.OFF_LIMITS))
    candidates.protect((rules.LAW_7, own == NONE))
    candidates.protect((rules.LAW_3, same_app(state, ask.row)))
    candidates.protect((rules.LAW_6, work.priority[:size] > work.priority[ask.row]))
    candidates.protect(*shut(rules.LAW_5, rules.LAW_2))
    for column, least in slack.least.items():
        candidates.protect((rules.LAW_2, work.usage[column, :size] > least[own]))
    return LawfulCandidates(candidates, slack, fence, closed)


def by_queue(queues: Queues, closed: Mapping[int, Rule], own: Int32s) -> Callable[..., Iterator[tuple[Rule, Bools]]]:
    """A function from rules to those of them that close a queue, each with the workloads of such queues.

    `own` is the queue of every workload; NONE, which is the last row of a table by queue, is closed by no rule here.
    """
    kinds = list(dict.fromkeys(closed.values()))
    code = np.zeros(queues.size + 1, np.int8)
    for queue, rule in closed.items():
        code[queue] = kinds.index(rule) + 1
    codes = code[own]

    def shut(*wanted: Rule) -> Iterator[tuple[Rule, Bools]]:
        for rule in wanted:
            if rule in kinds:
                yield rule, codes == kinds.index(rule) + 1

    return shut


def lawful_on_node(state: State, ask: Ask) -> LawfulCandidates:
    """The candidates of a claimant that needs a certain node: laws 3 and 6 alone bind it."""
    work, size = state.work, state.work.size
    candidates = looked_at(state, ask, work.state[:size])
    candidates.protect((rules.LAW_3, same_app(state, ask.row)))
    candidates.protect((rules.LAW_6, work.priority[:size] > work.priority[ask.row]))
    return LawfulCandidates(candidates, Slack(), NONE, {})


def looked_at(state: State, ask: Ask, phase: np.typing.NDArray[np.int8]) -> Candidates:
    """All that hold room in the claimant's partition, less those that no edition takes."""
    work, size = state.work, state.work.size
    looked = (phase >= RESERVED) & (work.partition[:size] == work.partition[ask.row])
    shares = np.zeros(size, np.bool_)
    for column in ask.amounts:
        shares |= work.usage[column, :size] > 0
    return Candidates(looked).protect(
        (rules.NOT_RUNNING, phase != RUNNING),
        (rules.PINNED, work.required_node[:size] != NONE),
        (rules.SEVERAL, on_several_nodes(state)),
        (rules.NO_TYPE, ~shares),
    )


def same_app(state: State, row: int) -> Bools:
    """Workloads of the same application; one without has an application of its own name."""
    work, size = state.work, state.work.size
    name = state.apps.name(int(work.app[row])) or state.work_names[row]
    code = state.apps.index.get(name)
    same: Bools = np.zeros(size, np.bool_) if code is None else work.app[:size] == code
    alone = state.work_index.get(name)
    if alone is not None and work.app[alone] == NONE:
        same[alone] = True
    return same


def on_several_nodes(state: State) -> Bools:
    """Workloads whose members stand on more than one node."""
    size = state.work.size
    first = state.work.resident[:size]
    several: Bools = (first != NONE) & (state.residents.sibling[first] != NONE)
    return several


def _closed(queues: Queues, snapshot: Snapshot, ask: Ask, fence: int, measured: int, queue: int) -> Rule | None:
    """The rule by which nobody of this queue may be taken, whoever it is; the claimant is under the guarantee of
    `measured`.
    """
    if queue == ask.leaf:
        return rules.OWN_QUEUE
    if queue not in queues.inside(fence):
        return rules.LAW_7
    if queues.properties[queue].disabled:
        return rules.OFF_LIMITS
    return None if is_over(queues, snapshot, ask, measured, queue) else rules.LAW_5


def is_over(queues: Queues, snapshot: Snapshot, ask: Ask, measured: int, leaf: int) -> bool:
    """Law 5: whether a leaf is over its guarantee in a requested type.

    A type that it does not guarantee itself counts as guaranteed 0. But where the nearest guarantee of that type is the
    very one that the claimant's queue is under, the leaf is under it as well: what it gave up for a sibling it could
    claim back at once.
    """
    used, guaranteed = snapshot.used(leaf), queues.guarantee(leaf)
    for column in ask.amounts:
        if used[column] <= guaranteed.get(column, 0):
            continue
        nearest = next((queue for queue in queues.path_of(leaf) if column in queues.guarantee(queue)), NONE)
        if nearest in (leaf, NONE) or nearest != measured:
            return True
    return False


def owed(queues: Queues, snapshot: Snapshot, leaf: int, asked: Iterable[int]) -> tuple[int, list[int]]:
    """Law 4: the nearest queue on the path of the leaf that guarantees a requested type, NONE if there is none; and of
    the requested types it guarantees those that are not strictly below.
    """
    queue, promised = queues.promise(leaf, asked)
    used = snapshot.used(queue) if queue != NONE else []
    return queue, [column for column, amount in promised if used[column] >= amount]
