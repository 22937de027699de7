"""What a submission is checked against: the cluster without its workloads, made ready once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.parts.policies import breach_of
from cede.engine.cluster import Cluster
from cede.engine.lint import lint, requested
from cede.live.api.problems import RefusedError, refusal
from cede.live.api.rules import FIXED_PRIORITY, NO_GPU_HERE, NO_SUCH_RESOURCE, PRIORITY_RANGE
from cede.live.owner_limits import no_tenant
from cede.live.sensitive import Sensitive
from cede.model.checks import Known, workload_findings
from cede.model.cluster import ClusterFile, Queue, Workload
from cede.model.dialect import INT32
from cede.model.quantities import NANO, format_quantity
from cede.model.reports import Finding, Hints
from cede.model.resources import is_gpu, lookalike, parse_resources, split_flavor
from cede.model.salvage import WHOLE
from cede.state.build import build
from cede.state.columns import UNLIMITED
from cede.state.entry import own_priority
from cede.state.state import State

DEFAULT_QUEUE = "default"
MOST_OWNERS = 1000
LEAST_CPU = NANO // 1000
"""Of a member that asks for any: a process is never next to nothing, and what counts cores counts all of them."""
TIMES_ALL = 10**6
"""All waiting work may come to this many times what there is of a resource, and can still be counted in the finest
steps that a submission uses."""
_INTERACTIVE = "interactive-may-be-preempted"


class SubmissionChecks:
    """The checks that one cluster asks for. A cluster is replaced, never changed, so this stays true of it."""

    def __init__(self, document: ClusterFile) -> None:
        self.document = document
        self.priorities = document.dialect.priorities
        self.sensitive = Sensitive(document)
        parents = {queue.parent for queue in document.queues if queue.parent is not None}
        names = {queue.name for queue in document.queues}
        self._known = Known(
            queues=names | parents,
            nodes={node.name for node in document.nodes},
            workloads=set(),
            instant=True,
            dialect=document.dialect,
        )
        self._offered = {split_flavor(name)[0] for node in document.nodes for name in node.capacity}
        self._named = _named(document)
        self._finest = {name: _finest_of(nano) for name, nano in _in_all(document).items()}
        self.names = frozenset(names | parents | {node.name for node in document.nodes})
        """Of queues and nodes."""
        self.leaves = sorted(names - parents)
        if len(self.leaves) == 1:
            self.default_queue: str | None = self.leaves[0]
        else:
            self.default_queue = DEFAULT_QUEUE if DEFAULT_QUEUE in self.leaves else None
        self._quotas = {queue.name: _quota_of(queue) for queue in document.queues} if document.dialect.quota else None
        self._bare = document.model_copy(update={"nodes": [], "queues": [], "apps": [], "workloads": []})
        self._static = build(self._bare).static
        self._bound_users = {policy.user for policy in document.policies} - {None}
        self._bound_projects = {policy.project for policy in document.policies} - {None}
        self._states: dict[tuple[str | None, str | None], State] = {}

    def findings(self, workload: Workload) -> list[Finding]:
        """What does not agree between the workload and the cluster."""
        findings = workload_findings(workload, self._known, Hints(), WHOLE)
        if (problem := no_tenant(self.document, workload.tenant)) is not None:
            findings.append(Finding(("tenant",), problem.message, problem.hint))
        return [*findings, *_too_little(workload), *self._too_fine(workload)]

    def _too_fine(self, workload: Workload) -> Iterator[Finding]:
        """Amounts whose steps would be everybody's, and leave no room to count what others ask for."""
        for loc, requests in _asked(workload):
            for name, nano in requests.items():
                finest = self._finest.get(split_flavor(name)[0], 1)
                if nano % finest:
                    step = format_quantity(finest)
                    message = f"{format_quantity(nano)} is finer than this server counts, which is in steps of {step}"
                    yield Finding((*loc, name), message, f"round it to a multiple of {step}")

    def filled(self, requests: Mapping[str, Any], defaults: Mapping[str, int], queue: str | None) -> dict[str, Any]:
        """What a member asks for, and what it gets of the defaults where it asks for none: nothing runs for nothing.

        Only what there is: nobody could ever run with a resource that no node has, or its queue no quota of.
        """
        named = {split_flavor(name)[0] for name, nano in parse_resources(dict(requests)).items() if nano}
        more = {name: format_quantity(nano) for name, nano in defaults.items() if name not in named and nano}
        return dict(requests) | {name: amount for name, amount in more.items() if self._has(name, queue)}

    def _has(self, resource: str, queue: str | None) -> bool:
        quota = None if self._quotas is None or queue is None else self._quotas.get(queue)
        if quota is not None and resource not in quota:
            return False
        return resource in self._offered if self.document.nodes else quota is not None

    def own_priority(self, user: str | None, project: str | None) -> int:
        """The priority of a workload that names none."""
        return own_priority(self._static, user, project)

    def breach(self, workload: Workload) -> RefusedError | None:
        """The refusal of a priority that its user or its project may not use; sensitive work has the highest class."""
        owners = (workload.user, workload.project)
        if workload.user not in self._bound_users and workload.project not in self._bound_projects:
            return None
        low, high = self.priorities if self.priorities != INT32 else (None, None)
        state = self._alone(*owners)
        own = self.own_priority(*owners) if workload.priority is None else workload.priority
        highest = self.sensitive.priority
        state.work.priority[0] = highest if highest is not None and self.sensitive(workload) else own
        breach = breach_of(state, 0, low, high)
        if breach is None:
            return None
        return refusal(403, FIXED_PRIORITY if breach.fixed else PRIORITY_RANGE, **breach.facts)

    def _alone(self, user: str | None, project: str | None) -> State:
        """A state with nothing but a workload of these owners; kept, for making one takes a while."""
        owners = (user, project)
        if owners not in self._states:
            if len(self._states) >= MOST_OWNERS:
                self._states.clear()
            given = {"name": "any", "user": user, "project": project}
            entry = Workload.model_validate({key: value for key, value in given.items() if value is not None})
            self._states[owners] = build(self._bare.model_copy(update={"workloads": [entry]}))
        return self._states[owners]

    def warnings(self, workload: Workload, *, gpus: bool) -> list[str]:
        """What may not be meant; `gpus`: this machine has some."""
        return [*self._resources(workload, gpus), *self._kind(workload)]

    def _resources(self, workload: Workload, gpus: bool) -> Iterator[str]:
        """Of what it asks for, what there is none of."""
        for name in sorted(requested(workload)) if self._offered else ():
            if split_flavor(name)[0] not in self._offered:
                yield NO_SUCH_RESOURCE.because(resource=name, hint=self._meant(name))
            elif is_gpu(name) and not gpus:
                yield NO_GPU_HERE.because(resource=name)

    def strange(self, workload: Workload) -> set[str]:
        """What it asks for by names that no node and no quota has."""
        if not self._named.resources:
            return set()
        return {name for name in requested(workload) if not self._named.has(name)}

    def meant(self, workload: Workload) -> str:
        """The hint for one that is refused because it asks for a resource by a name that no node has it under."""
        return "".join(map(self._meant, sorted(requested(workload)))) if self._offered else ""

    def _meant(self, resource: str) -> str:
        similar = lookalike(resource, self._offered)
        return "" if similar is None else f" (did you mean '{similar}'?)"

    def _kind(self, workload: Workload) -> list[str]:
        """What its queue will do to a workload of this kind."""
        if workload.kind != "interactive" or not workload.preemptible:
            return []
        bare = workload.model_copy(update={"constraints": None, "required_node": None})
        findings = lint(Cluster(self.document.model_copy(update={"nodes": [], "workloads": [bare]})))
        return [f"{one.message} ({one.hint})" for one in findings if one.rule.endswith(_INTERACTIVE)]


@dataclass(frozen=True, slots=True)
class _Named:
    """The resources and the flavors that a cluster file names."""

    resources: frozenset[str]
    flavors: frozenset[str | None]

    def has(self, name: str) -> bool:
        resource, flavor = split_flavor(name)
        return resource in self.resources and flavor in self.flavors


def _named(document: ClusterFile) -> _Named:
    amounts: list[Iterable[str]] = [node.capacity for node in document.nodes]
    amounts += [queue.guaranteed or () for queue in document.queues]
    groups = [group for queue in document.queues for group in queue.resource_groups or ()]
    pairs = {split_flavor(name) for names in (*amounts, *(group.resources for group in groups)) for name in names}
    flavors = {flavor for _, flavor in pairs} | {flavor for group in groups for flavor in group.flavors}
    flavors |= {node.flavor for node in document.nodes}
    return _Named(frozenset(resource for resource, _ in pairs), frozenset(flavors | {None}))


def _asked(workload: Workload) -> list[tuple[tuple[str | int, ...], Mapping[str, int]]]:
    """What a member of each part asks for, and the place where it does."""
    if workload.pod_sets is None:
        return [(("requests",), workload.requests)]
    return [(("pod_sets", at, "requests"), part.requests) for at, part in enumerate(workload.pod_sets)]


def _too_little(workload: Workload) -> Iterator[Finding]:
    """Members that ask for cores, and for so few that they cost nothing."""
    for loc, requests in _asked(workload):
        for name, nano in requests.items():
            if split_flavor(name)[0] == "cpu" and 0 < nano < LEAST_CPU:
                least = format_quantity(LEAST_CPU)
                yield Finding((*loc, name), f"{format_quantity(nano)} is too little; the least of a member is {least}")


def _in_all(document: ClusterFile) -> Counter[str]:
    """How much there is of each resource, on nodes or in quotas, in nano-units."""
    on_nodes, in_quotas = Counter[str](), Counter[str]()
    for node in document.nodes:
        for name, nano in node.capacity.items():
            on_nodes[split_flavor(name)[0]] += nano
    for queue in document.queues:
        for name, quota in (queue.guaranteed or {}).items():
            in_quotas[split_flavor(name)[0]] += quota
    return on_nodes | in_quotas


def _finest_of(nano: int) -> int:
    """The least power of ten in whose steps so much, and TIMES_ALL of it, can be counted; whole units always can."""
    step = 1
    while step < NANO and nano * TIMES_ALL >= UNLIMITED * step:
        step *= 10
    return step


def _quota_of(queue: Queue) -> frozenset[str]:
    """The resources that a queue has quota of: what asks for another is never admitted."""
    groups = (name for group in queue.resource_groups or () for name in group.resources)
    return frozenset(split_flavor(name)[0] for name in (*(queue.guaranteed or {}), *groups))
