"""What an explanation adds to the candidates: the fence, guarantees on the path before and after, and the leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cede.doctrines.yunikorn.ask import Ask, say
from cede.doctrines.yunikorn.queues import Queues
from cede.doctrines.yunikorn.snapshot import Snapshot
from cede.model.rules import Rule
from cede.state.columns import NONE
from cede.state.state import State


def account_of(
    state: State,
    queues: Queues,
    before: Snapshot,
    after: Snapshot | None,
    ask: Ask,
    fence: int,
    leaves: Mapping[int, Any],
) -> dict[str, Any]:
    """The fence root; remaining guarantee at each level of the claimant's path; each leaf, open or why not."""
    return {
        "fence": queues.name(fence) if fence != NONE else "none",
        "path": [_level(state, queues, before, after, queue) for queue in queues.path_of(ask.leaf)],
        "leaves": [leaves[queue] for queue in sorted(leaves, key=queues.name)],
    }


def _level(state: State, queues: Queues, before: Snapshot, after: Snapshot | None, queue: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "queue": queues.name(queue),
        "guaranteed": say(state, queues.guaranteed[queue]) if queues.guaranteed[queue] else "none",
        "remaining": _rest(state, before, queue),
    }
    if after is not None:
        shown["remaining after"] = _rest(state, after, queue)
    return shown


def _rest(state: State, snapshot: Snapshot, queue: int) -> str:
    """For the leaf that asks, what it is owed by all above it; for a queue above it, what remains of its own."""
    rest = snapshot.remaining(queue) if queue == snapshot.leaf else snapshot.own(queue)
    return "none" if rest is None else say(state, dict(rest))


def leaf_of(queues: Queues, queue: int, rule: Rule | None, why: str) -> dict[str, Any]:
    """One leaf of the account."""
    return {"queue": queues.name(queue), "open": rule is None, "rule": "" if rule is None else rule.id, "why": why}
