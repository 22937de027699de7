"""Settings of queues that will not do what they seem to, or that let work be evicted in circles."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.yunikorn.queues import Queues, queues_of
from cede.doctrines.yunikorn.settings import DISABLED, FENCE, LAWS, ONLY_SHIPPED, mode_of
from cede.model.lint import Finding
from cede.model.times import parse_duration
from cede.state.state import State


def lint(state: State, edition: str) -> Iterator[Finding]:
    """Findings about the cluster's settings, then about every queue, by name."""
    queues = queues_of(state, edition)
    choice = state.static.doctrine
    raw = {} if choice is None else dict(choice.settings)
    if edition == LAWS:
        yield from _unread("doctrine", raw)
    mode = mode_of(raw)
    for name in sorted(state.tree.index):
        queue = state.tree.index[name]
        if not state.tree.listed[queue]:
            continue
        own = state.tree.settings(queue)
        path = f"queues[{name}].settings"
        if edition == LAWS:
            yield from _unread(path, own)
        yield from _alone(queues, queue, name)
        yield from _policies(queues, queue, path, own)
        yield from _delays(queues, queue, path, own, edition, quota=mode.quota)
        yield from _never(queues, queue, name, own, enabled=mode.enabled)


def _unread(path: str, raw: dict[str, object]) -> Iterator[Finding]:
    for name in sorted(ONLY_SHIPPED & raw.keys()):
        yield Finding(
            "yunikorn.lint.not-in-the-design",
            f"{path}.{name}",
            f"the design does not know {name}: edition laws never reads it",
            'plan with edition "1.9" to see what it does, or drop it',
        )


def _alone(queues: Queues, queue: int, name: str) -> Iterator[Finding]:
    above, dot, _ = name.rpartition(".")
    if dot and len(queues.path[queue]) == 1:
        yield Finding(
            "yunikorn.lint.path-without-parent",
            f"queues[{name}]",
            f"{name} is named like a queue below {above}, but has no parent: it is a tree of its own, and its work "
            "finds no victim in others",
            f"add parent: {above}",
        )


def _policies(queues: Queues, queue: int, path: str, own: dict[str, object]) -> Iterator[Finding]:
    policy, root = own.get("preemption.policy"), len(queues.path[queue]) == 1
    if policy == FENCE and root:
        yield Finding(
            "yunikorn.lint.fence-on-root",
            f"{path}.preemption.policy",
            "a fence on the root has no effect: nothing is outside of it",
            "set it on the queue whose work must not look further",
        )
    if policy == FENCE and not root and not queues.children[queue]:
        yield Finding(
            "yunikorn.lint.fence-on-leaf",
            f"{path}.preemption.policy",
            f"a fence on the leaf {queues.names[queue]} leaves its work no queue to take from: it never preempts",
            "set the fence on its parent, if its siblings may be preempted",
        )
    if policy == DISABLED and root:
        yield Finding(
            "yunikorn.lint.disabled-everywhere",
            f"{path}.preemption.policy",
            "disabled on the root protects all work: only work that needs a certain node preempts",
            "set it on the queues that must be protected",
        )


def _delays(
    queues: Queues, queue: int, path: str, own: dict[str, object], edition: str, *, quota: bool
) -> Iterator[Finding]:
    if "preemption.delay" in own and parse_duration(own["preemption.delay"]) == 0:
        yield Finding(
            "yunikorn.lint.no-delay",
            f"{path}.preemption.delay",
            "a delay must be above zero: 0 means the default of 30s",
            "set 1s, if asks shall hardly wait",
        )
    if edition == LAWS and "preemption.delay" in own and queues.children[queue]:
        yield Finding(
            "yunikorn.lint.delay-on-parent",
            f"{path}.preemption.delay",
            f"by the design a delay counts on leaves only, and {queues.names[queue]} has queues below it",
            "set it on the leaves",
        )
    if edition != LAWS and queues.properties[queue].quota_delay and "quota.preemption.delay" in own and not quota:
        yield Finding(
            "yunikorn.lint.quota-preemption-off",
            f"{path}.quota.preemption.delay",
            "quota.preemption.delay can never fire: preemption.quotapreemptionenabled is false, the default",
            "set it to true under doctrine",
        )


def _never(queues: Queues, queue: int, name: str, own: dict[str, object], *, enabled: bool) -> Iterator[Finding]:
    """Leaves whose work can never preempt, because nothing on their path is guaranteed."""
    if queues.children[queue] or not enabled or "preemption.delay" not in own:
        return
    if all(queues.guaranteed[above] is None for above in queues.path[queue]):
        yield Finding(
            "yunikorn.lint.nothing-guaranteed",
            f"queues[{name}].settings.preemption.delay",
            f"no queue on the path of {name} is guaranteed anything, so that its work never preempts, and the delay "
            "is never read",
            "give it, or a queue above it, a guarantee",
        )
