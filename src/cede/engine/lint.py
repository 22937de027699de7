"""The checks of `cede lint` that hold under every doctrine: a name and a sentence each."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import numpy as np

from cede.doctrines.catalog import find
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.fit import never_fits
from cede.doctrines.parts.limits import used_quota
from cede.doctrines.parts.shortage import shortage
from cede.engine.cluster import Cluster
from cede.model.cluster import ClusterFile, Workload
from cede.model.lint import Finding
from cede.model.quantities import show_quantity
from cede.model.resources import lookalike
from cede.model.rules import Rule, RuleSet
from cede.state.columns import CHECKPOINTING, DOWN, NONE, PREEMPTING, RUNNING, STATES, UNSET, Int64s, limits_added
from cede.state.state import State
from cede.state.static import DEFAULT_PARTITION
from cede.state.units import FULL, WHOLE

RULES = RuleSet("lint")

OVER_CAPACITY = RULES.warns(
    "node-over-capacity", "what stands on {node} takes {used} {what} of {capacity}, which is {over} too much"
)
NOT_ALONE = RULES.warns("node-not-exclusive", "{alone} asks for the whole of {node}, and {others} stands there too")
STALE_HOLD = RULES.warns("reserved-for-nobody", "{node} is kept for {workload}, which is {state} and waits for nothing")

OVER_MAX = RULES.warns("queue-over-max", "{queue} holds {used} {what}, and its max is {limit}")
GUARANTEE_OVER_MAX = RULES.warns(
    "guarantee-above-max", "{queue} is guaranteed {guaranteed} {what}, more than its max of {limit}"
)
CHILDREN_OVER_PARENT = RULES.warns(
    "guarantees-above-parent",
    "the children of {queue} are guaranteed {total} {what} in all, {queue} itself {guaranteed}",
)
OVER_CLUSTER = RULES.warns(
    "guarantees-above-capacity",
    "the queues of {partition} are guaranteed {total} {what} in all, and its nodes have {capacity}",
)
MAX_OVER_PARENT = RULES.warns(
    "max-above-parent", "the max of {queue}, {limit} {what}, is above that of {parent}, {above}: it is never reached"
)
NO_PARENT = RULES.warns("limit-without-parent", "{queue} has a {key} but no parent to share with")
EMPTY_PARTITION = RULES.warns("partition-without-nodes", "no node belongs to {partition}, the partition of {queue}")

POLICY_RANGE = RULES.warns(
    "default-outside-range",
    "{owner} may use priorities {low}..{high}, and work without one has {whose}, {default}, {effect}",
)
NO_DOCTRINE = RULES.warns("settings-without-doctrine", "{keys}: without a doctrine nobody reads these settings")

NO_SUCH_RESOURCE = RULES.warns("no-such-resource", "no {who} has {resource}")
FITS_NOWHERE = RULES.warns("fits-no-node", "{workload} fits no node it may use, even if that were empty{more}")
OTHER_PARTITION = RULES.warns(
    "other-partition", "{workload} belongs to {partition}, and stands on {node} of {other}: no rule sees it there"
)
ON_DOWN_NODE = RULES.warns("on-down-node", "{workload} is {state} on {node}, which is down")


def finding(rule: Rule, path: str, hint: str, **facts: object) -> Finding:
    """The rule's sentence with its numbers, and the place."""
    return Finding(rule.id, path, rule.because(**facts), hint)


def resource_findings(document: ClusterFile) -> Iterator[Finding]:
    """By queue name, then by workload name. Nodes offer what they have; where there are none, queues do."""
    of_nodes = {name for node in document.nodes for name in node.capacity}
    of_queues = {queue.name: {*(queue.guaranteed or ()), *(queue.max or ())} for queue in document.queues}
    offered = of_nodes if document.nodes else set().union(*of_queues.values())
    if not offered:
        return
    known: dict[str, str | None] = {}

    def found(entry: str, names: set[str]) -> Iterator[Finding]:
        for name in sorted(names):
            if name not in known:
                known[name] = lookalike(name, offered)
            if (meant := known[name]) is not None:
                who = "node" if document.nodes else "queue"
                yield finding(NO_SUCH_RESOURCE, entry, f"did you mean '{meant}'?", resource=name, who=who)

    for queue, names in sorted(of_queues.items()):
        yield from found(f"queues[{queue}]", names)
    for workload in sorted(document.workloads, key=lambda workload: workload.name):
        yield from found(f"workloads[{workload.name}]", requested(workload))


def requested(workload: Workload) -> set[str]:
    """The resources that any of its members asks for."""
    parts = [workload.requests] if workload.pod_sets is None else [part.requests for part in workload.pod_sets]
    return {name for part in parts for name in part}


def node_findings(state: State) -> Iterator[Finding]:
    """By node name. A reserved workload and those that make way for it overlap, and that is no overcommit."""
    nodes, size = state.nodes, state.nodes.size
    crowded = (nodes.free[:, :size] < 0).any(axis=0)
    stale = np.isin(_states_kept_for(state), (RUNNING, CHECKPOINTING, PREEMPTING))
    for node in sorted(np.flatnonzero(crowded | stale).tolist(), key=state.node_names.__getitem__):
        yield from _crowded(state, node)
        if stale[node]:
            kept_for = int(nodes.reserved_for[node])
            yield finding(
                STALE_HOLD,
                f"nodes[{state.node_names[node]}].reserved_for",
                "drop reserved_for",
                node=state.node_names[node],
                workload=state.work_names[kept_for],
                state=STATES[state.work.state[kept_for]],
            )


def _states_kept_for(state: State) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    kept = state.nodes.reserved_for[: state.nodes.size]
    return np.where(kept == NONE, NONE, state.work.state[np.maximum(kept, 0)])


def _crowded(state: State, node: int) -> Iterator[Finding]:
    nodes, name = state.nodes, state.node_names[node]
    for column in np.flatnonzero(nodes.free[:, node] < 0).tolist():
        if column == WHOLE:
            yield _not_alone(state, node)
            continue
        what = state.units.names[column]
        free, capacity = int(nodes.free[column, node]), int(nodes.capacity[column, node])
        used, full, over = (
            show_quantity(what, count * state.units.nano[column]) for count in (capacity - free, capacity, -free)
        )
        yield finding(
            OVER_CAPACITY,
            f"nodes[{name}].capacity",
            "correct capacity or occupied, or take a workload off the node",
            node=name,
            what=what,
            used=used,
            capacity=full,
            over=over,
        )


def _not_alone(state: State, node: int) -> Finding:
    residents = state.residents
    standing = sorted(state.node_residents[node], key=lambda row: state.work_names[residents.work[row]])
    names = [state.work_names[residents.work[row]] for row in standing]
    alone = next(n for n, row in zip(names, standing, strict=True) if residents.amount[WHOLE, row] >= FULL)
    others = [other for other in names if other != alone]
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    node_name = state.node_names[node]
    return finding(
        NOT_ALONE,
        f"workloads[{alone}].exclusive",
        f"take the others off {node_name}, or drop exclusive",
        alone=alone,
        node=node_name,
        others=", ".join(others[:3]) + more if others else "another member of it",
    )


def queue_findings(state: State) -> Iterator[Finding]:
    """By queue name, then partitions by name."""
    promises = Promises(state)
    for name in sorted(state.tree.index):
        queue = state.tree.index[name]
        if state.tree.listed[queue]:
            yield from _limits(state, name, queue)
            yield from _family(state, name, queue)
            yield from _children(state, name, queue, promises)
    yield from _partitions(state, promises)


class Promises:
    """What each queue's children, and the queue with all below it, are guaranteed together."""

    def __init__(self, state: State) -> None:
        tree = state.tree
        self.adds = state.static.flavored_quota
        self.children: dict[int, list[int]] = {}
        for queue in range(tree.size):
            self.children.setdefault(int(tree.parent[queue]), []).append(queue)
        self.together = np.maximum(tree.guaranteed[:, : tree.size], 0)
        self.below = np.zeros_like(self.together)
        for queue in reversed(self._from_the_top()):
            below = self.below[:, queue]
            own = self.together[:, queue]
            own[:] = limits_added(own, below) if self.adds else np.maximum(own, below)
            above = int(tree.parent[queue])
            if above != NONE:
                self.below[:, above] = limits_added(self.below[:, above], own)

    def _from_the_top(self) -> list[int]:
        order = list(self.children.get(NONE, ()))
        for queue in order:
            order += self.children.get(queue, ())
        return order


def _limits(state: State, name: str, queue: int) -> Iterator[Finding]:
    tree = state.tree
    most, promised, used = tree.max[:, queue], tree.guaranteed[:, queue], used_quota(state, queue)
    for column in np.flatnonzero((most != UNSET) & (used > most)).tolist():
        yield finding(
            OVER_MAX,
            f"queues[{name}].max",
            "raise max, or expect rules about max to act; `over_limit_since` says since when",
            queue=name,
            what=state.units.names[column],
            used=_shown(state, column, used[column]),
            limit=_shown(state, column, most[column]),
        )
    for column in np.flatnonzero((most != UNSET) & (promised > most)).tolist():
        yield finding(
            GUARANTEE_OVER_MAX,
            f"queues[{name}].guaranteed",
            "lower guaranteed or raise max",
            queue=name,
            what=state.units.names[column],
            guaranteed=_shown(state, column, promised[column]),
            limit=_shown(state, column, most[column]),
        )


def _family(state: State, name: str, queue: int) -> Iterator[Finding]:
    tree = state.tree
    if tree.parent[queue] == NONE:
        for key in ("borrowing_limit", "lending_limit"):
            if (getattr(tree, key)[:, queue] != UNSET).any():
                hint = f"add a parent, or drop {key}"
                yield finding(NO_PARENT, f"queues[{name}].{key}", hint, queue=name, key=key)
    for column in np.flatnonzero(tree.max[:, queue] != UNSET).tolist():
        above = next((q for q in tree.path(queue)[1:] if tree.max[column, q] != UNSET), None)
        if above is not None and tree.max[column, queue] > tree.max[column, above]:
            yield finding(
                MAX_OVER_PARENT,
                f"queues[{name}].max",
                "lower it, or raise the parent's",
                queue=name,
                what=state.units.names[column],
                limit=_shown(state, column, tree.max[column, queue]),
                parent=tree.names[above],
                above=_shown(state, column, tree.max[column, above]),
            )


def _children(state: State, name: str, queue: int, promises: Promises) -> Iterator[Finding]:
    promised, total = state.tree.guaranteed[:, queue], promises.below[:, queue]
    if promises.adds:
        return
    for column in np.flatnonzero((promised != UNSET) & (total > promised)).tolist():
        yield finding(
            CHILDREN_OVER_PARENT,
            f"queues[{name}].guaranteed",
            "lower the children's guarantees or raise the parent's: not all can be kept at once",
            queue=name,
            what=state.units.names[column],
            total=_shown(state, column, total[column]),
            guaranteed=_shown(state, column, promised[column]),
        )


def _partitions(state: State, promises: Promises) -> Iterator[Finding]:
    tree, nodes = state.tree, state.nodes
    if not nodes.size:
        return
    with_nodes = set(nodes.partition[: nodes.size].tolist())
    for name in sorted(tree.index):
        queue = tree.index[name]
        partition = int(tree.partition[queue])
        if tree.listed[queue] and queue not in promises.children and partition not in with_nodes:
            yield finding(
                EMPTY_PARTITION,
                f"queues[{name}].partition",
                "correct the partition, here or on the nodes",
                queue=name,
                partition=state.partitions.names[partition],
            )
    for partition in sorted(with_nodes, key=state.partitions.names.__getitem__):
        tops = [q for q in range(tree.size) if tree.partition[q] == partition and not _inside(state, q, partition)]
        if tops:
            yield from _over_cluster(state, partition, promises.together[:, tops].sum(axis=1))


def _inside(state: State, queue: int, partition: int) -> bool:
    """Whether a queue above it is of the same partition."""
    return any(state.tree.partition[above] == partition for above in state.tree.path(queue)[1:])


def _over_cluster(state: State, partition: int, total: Int64s) -> Iterator[Finding]:
    named = state.partitions.names[partition]
    for column in np.flatnonzero(total).tolist():
        what = state.units.names[column]
        capacity = _capacity(state, partition, what)
        if int(total[column]) * state.units.nano[column] > capacity:
            yield finding(
                OVER_CLUSTER,
                "queues",
                "lower the guarantees: not all can be kept at once",
                partition="the cluster" if named == DEFAULT_PARTITION else f"partition {named}",
                what=what,
                total=_shown(state, column, total[column]),
                capacity=show_quantity(what, capacity),
            )


def _capacity(state: State, partition: int, what: str) -> int:
    """What the nodes of a partition have in all, in nano-units; of one flavor only if the resource names one."""
    nodes, size = state.nodes, state.nodes.size
    mask = nodes.partition[:size] == partition
    column = state.units.index[what]
    return int(nodes.capacity[column, :size][mask].sum()) * state.units.nano[column]


def _shown(state: State, column: int, count: int) -> str:
    return show_quantity(state.units.names[column], state.units.limit(column, int(count)))


def workload_findings(state: State) -> Iterator[Finding]:
    """By workload name."""
    if state.nodes.size:
        yield from _misplaced(state)
        yield from _hopeless(state)


def _misplaced(state: State) -> Iterator[Finding]:
    residents, nodes = state.residents, state.nodes
    live = residents.count[: residents.size] > 0
    work, node = residents.work[: residents.size], residents.node[: residents.size]
    foreign = live & (state.work.partition[work] != nodes.partition[node])
    down = live & (nodes.state[node] == DOWN)
    found = np.flatnonzero(foreign | down).tolist()
    for row in sorted(found, key=lambda row: (state.work_names[work[row]], state.node_names[node[row]])):
        name, place = state.work_names[work[row]], state.node_names[node[row]]
        if foreign[row]:
            yield finding(
                OTHER_PARTITION,
                f"workloads[{name}].nodes",
                "correct its queue, its nodes, or their partition",
                workload=name,
                node=place,
                partition=state.partitions.names[state.work.partition[work[row]]],
                other=state.partitions.names[nodes.partition[node[row]]],
            )
        if down[row]:
            yield finding(
                ON_DOWN_NODE,
                f"workloads[{name}].nodes",
                "let it be pending, or correct the node's state",
                workload=name,
                state=STATES[state.work.state[work[row]]],
                node=place,
            )


def _hopeless(state: State) -> Iterator[Finding]:
    """Waiting work that no node could hold, each kind of request looked at once."""
    empty = state.nodes.capacity[:, : state.nodes.size] - state.nodes.occupied[:, : state.nodes.size]
    known: dict[Hashable, str | None] = {}
    for row in sorted(state.pending, key=state.work_names.__getitem__):
        kind = _kind(state, row)
        if kind not in known:
            claim = claim_of(state, row)
            claim = replace(claim, allowed=claim.matching)
            if not claim.matching.any():
                known[kind] = ": no node matches what it asks for"
            elif not never_fits(state, claim, empty):
                known[kind] = None
            else:
                known[kind] = f": {shortage(state, claim, empty)}"
        if known[kind] is not None:
            name = state.work_names[row]
            hint = "lower what it requests, or add a node that is large enough and matches"
            yield finding(FITS_NOWHERE, f"workloads[{name}]", hint, workload=name, more=known[kind])


def _kind(state: State, row: int) -> Hashable:
    """Equal for workloads that ask for the same."""
    work = state.work
    if row in state.parts or row in state.constraints:
        return row
    return (
        work.need[:, row].tobytes(),
        int(work.members[row]),
        int(work.placement[row]),
        int(work.partition[row]),
        int(work.required_node[row]),
    )


LOWEST, HIGHEST = 0, 100


def lint(cluster: Cluster) -> list[Finding]:
    """Findings by part of the file, entries by name: nodes, queues, policies, workloads, names, the doctrine's."""
    state = cluster.state
    found = [
        *node_findings(state),
        *queue_findings(state),
        *_policies(cluster, state),
        *workload_findings(state),
        *resource_findings(cluster.document),
        *_settings_of_nobody(cluster),
    ]
    choice = cluster.document.doctrine
    if choice is not None:
        found += find(choice.name).lint(state, choice.edition)
    return found


def _policies(cluster: Cluster, state: State) -> Iterator[Finding]:
    """A policy whose own default lies outside what it allows: reading the file compares only what it states."""
    for index, policy in enumerate(cluster.document.policies):
        given = policy.default_priority
        default = state.static.default_priority if given is None else given
        low = LOWEST if policy.min_priority is None else policy.min_priority
        high = HIGHEST if policy.max_priority is None else policy.max_priority
        stated = policy.min_priority is not None or policy.max_priority is not None
        if stated and not low <= default <= high:
            owner = f"user {policy.user}" if policy.user is not None else f"project {policy.project}"
            yield finding(
                POLICY_RANGE,
                f"policies[{index}]",
                f"add default_priority within {low}..{high}, or widen the range",
                owner=owner,
                low=low,
                high=high,
                default=default,
                whose="its default" if given is not None else "the doctrine's default",
                effect="and the range never counts, as it may not choose"
                if policy.may_change is False
                else "which is then refused",
            )


def _settings_of_nobody(cluster: Cluster) -> Iterator[Finding]:
    document = cluster.document
    if document.doctrine is not None:
        return
    for section, entries in (("queues", document.queues), ("apps", document.apps)):
        for entry in sorted((entry for entry in entries if entry.settings), key=lambda entry: entry.name):
            yield finding(
                NO_DOCTRINE,
                f"{section}[{entry.name}].settings",
                "add `doctrine: NAME`, or drop the settings",
                keys=", ".join(entry.settings),
            )
