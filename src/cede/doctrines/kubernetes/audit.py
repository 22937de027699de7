"""What kube-scheduler promises of a preemption, looked at once it is made, by code that chose nothing."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.kubernetes.settings import KubernetesSettings
from cede.doctrines.parts.doctrine import Audit
from cede.model.plan import Decision
from cede.state.columns import STATES
from cede.state.state import State


def audit(state: State, _settings: KubernetesSettings) -> Audit:
    """Of a single pod: all its victims stand on the node that it gets, and none of them could have stayed there.

    Whether one could is asked where nobody is leaving and nothing was decided before: what is on its way there counts
    as taken, and who of those that are leaving is waited for is not said in a plan.
    """
    busy = {
        name
        for row in state.work_index.values()
        if STATES[state.work.state[row]] in ("preempting", "reserved")
        for name in state.nodes_of(row)
    }

    def follow(made: Decision) -> Iterator[str]:
        yield from _objections(state, made, busy)
        busy.update(made.nodes)
        for victim in made.victims:
            busy.update(state.nodes_of(state.work_index[victim.workload]))

    return follow


def _objections(state: State, made: Decision, busy: set[str]) -> Iterator[str]:
    if made.workload is None or not made.victims or len(made.nodes) != 1:
        return
    [node] = made.nodes
    rows = [state.work_index[victim.workload] for victim in made.victims]
    for row in rows:
        if node not in state.nodes_of(row):
            yield f"{state.work_names[row]} does not stand on {node}, which {made.workload} gets"
            return
    if node in busy:
        return
    at = state.node_index[node]
    need = state.members_of(state.work_index[made.workload])[0]
    columns = [column for column in range(len(need)) if need[column]]
    held = {row: _held(state, row, at) for row in rows}
    for row in rows:
        stays = {other: amounts for other, amounts in held.items() if other != row}
        room = [
            int(state.nodes.free[column, at]) + sum(amounts[column] for amounts in stays.values()) for column in columns
        ]
        if all(have >= int(need[column]) for have, column in zip(room, columns, strict=True)):
            yield f"{state.work_names[row]} could have stayed on {node} beside {made.workload}"


def _held(state: State, row: int, node: int) -> list[int]:
    """What this workload holds of this node, by column."""
    residents = state.residents
    held = [0] * len(state.units)
    for resident in state.residents_of(row):
        if residents.node[resident] == node:
            held = [have + int(more) for have, more in zip(held, residents.amount[:, resident], strict=True)]
    return held
