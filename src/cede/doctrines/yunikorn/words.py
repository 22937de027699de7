"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cede.doctrines.parts.candidates import Facts
from cede.doctrines.yunikorn.ask import Ask, say, used_of
from cede.doctrines.yunikorn.queues import Amounts, Queues
from cede.doctrines.yunikorn.slack import Slack
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.state.columns import NONE, STATES
from cede.state.state import State

Ranks = Callable[[int], dict[str, object]]


def facts_about(
    state: State,
    queues: Queues,
    snapshot: Snapshot,
    ask: Ask,
    fence: int,
    slack: Slack | None = None,
    ranks: Ranks | None = None,
) -> Facts:
    """A function from a candidate's row to what a sentence may name; `ranks` where offsets change priorities."""
    work = state.work

    def facts(row: int) -> Mapping[str, object]:
        queue = int(work.queue[row])
        required = int(work.required_node[row])
        owner = next((above for above in queues.path_of(queue) if queues.guaranteed[above] is not None), queue)
        found: dict[str, object] = {
            "queue": queues.name(queue),
            "used": held_of(state, queues, snapshot, queue, ask.amounts),
            "guaranteed": promised_to(state, queues, queue),
            "owner": f"its queue {queues.name(owner)}" if owner == queue else f"{queues.name(owner)} above its queue",
            "held": held_of(state, queues, snapshot, owner, ask.amounts),
            "promised": promised_to(state, queues, owner),
            "claimant_queue": queues.name(ask.leaf),
            "asks": asks(state, row),
            "node": ", ".join(dict.fromkeys(state.nodes_of(row))) or "no node",
            "priority": int(work.priority[row]),
            "claimant_priority": int(work.priority[ask.row]),
            "rank": int(work.priority[row]),
            "claimant_rank": int(work.priority[ask.row]),
            "resort": "nobody else makes enough room" if slack is not None else "it goes where the search ends",
            "state": STATES[int(work.state[row])],
            "count": len(set(state.nodes_of(row))),
            "required": state.node_names[required] if required != NONE else "",
            "asked": say(state, ask.amounts),
            "disabling": queues.name(queues.disabling(queue)),
            "fence": queues.name(fence),
            "app": state.apps.name(int(work.app[ask.row])) or state.work_names[ask.row],
            "victim": state.work_names[row],
            "claimant": state.work_names[ask.row],
        }
        found |= law_2_facts(state, queues, slack, row) if slack is not None else {}
        return found | (ranks(row) if ranks is not None else {})

    return facts


def asks(state: State, row: int) -> str:
    """What an unwilling victim asks for."""
    if not state.work.preemptible[row]:
        return "asks not to be preempted"
    return "started the others of its application" if state.work.originator[row] else "asks for nothing special"


def promised_to(state: State, queues: Queues, queue: int) -> str:
    """A queue's own guarantee."""
    guaranteed = None if queue == NONE else queues.guaranteed[queue]
    return "nothing" if guaranteed is None else say(state, guaranteed)


def held_of(state: State, queues: Queues, snapshot: Snapshot, queue: int, asked: Amounts) -> str:
    """What a queue uses of the types that it guarantees, or that are asked for."""
    if queue == NONE:
        return "nothing"
    return say(state, used_of(snapshot.used(queue), asked | queues.guarantee(queue)))


def law_2_facts(state: State, queues: Queues, slack: Slack, row: int) -> dict[str, object]:
    """The queue that would be under its guarantee without this workload, and the numbers."""
    for pair in slack.of_leaf.get(int(state.work.queue[row]), ()):
        queue, column, left = slack.pairs[pair]
        takes = int(state.work.usage[column, row])
        if takes > left or left < 0:
            guaranteed = queues.guarantee(queue)[column]
            return {
                "short_queue": queues.name(queue),
                "left": say(state, {column: guaranteed + left - takes}),
                "guaranteed": say(state, {column: guaranteed}),
            }
    return {}
