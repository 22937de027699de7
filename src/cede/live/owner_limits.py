"""Limits of owners: the longest times they may ask for, how much they may have under way, and that tenants exist."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from cede.engine.drive.caps import Cap, Owner, running_of
from cede.engine.drive.facts import SetTerms
from cede.engine.drive.job import Job
from cede.engine.drive.terms import Terms
from cede.live.config import Caps, Grant, Limits, ServerConfig, Times, User
from cede.live.sensitive import Sensitive
from cede.live.terms import terms_of
from cede.model.cluster import ClusterFile
from cede.model.errors import InputError, Problem, did_you_mean, shown
from cede.model.times import format_duration

_SHOWN = 5


def no_tenant(document: ClusterFile, name: str | None, place: str = "tenant") -> Problem | None:
    """What is wrong with the name of a tenant, where the file has tenants."""
    known = [tenant.name for tenant in document.tenants]
    if name is None or not known or name in known:
        return None
    hint = did_you_mean(name, known) or f"the cluster file has {', '.join(sorted(known)[:_SHOWN])}"
    return Problem(place, f"no tenant is called {shown(name)}", hint)


def check_tenants(document: ClusterFile, users: Iterable[User]) -> None:
    """An InputError names every user of the configuration whose tenant is none."""
    per_user = (no_tenant(document, user.tenant, f"users[{user.name}].tenant") for user in users)
    if problems := [problem for problem in per_user if problem is not None]:
        raise InputError(problems)


Maximum = Literal["grace_period", "checkpoint_time", "max_deferral", "walltime"]
OF_TERMS: dict[Maximum, Callable[[Terms], int]] = {
    "grace_period": lambda terms: terms.grace_period,
    "checkpoint_time": lambda terms: round(terms.checkpoint_timeout * (1 + terms.timeout_extension)),
    "max_deferral": lambda terms: terms.max_deferral,
}
"""What a workload's terms have of each maximum."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The most of something in microseconds, and the key that says so."""

    most: int
    key: str


@dataclass(frozen=True, slots=True)
class OwnerLimits:
    """What holds for one owner in one queue.

    What is said of the user counts first. Else what its queue says, or the nearest one above it that says something,
    or its role; where both do, the smaller; else what the server says.
    """

    config: ServerConfig
    user: str
    role: str
    path: tuple[str, ...]
    """Its queue, and those above it."""

    def bound(self, name: Maximum) -> Bound | None:
        """The most of this; none: there is no limit."""
        limits = self.config.limits
        if (own := _said(f"users[{self.user}].limits", self._own, name)) is not None:
            return own
        queues = (_said(f"limits.queues[{queue}]", limits.queues.get(queue), name) for queue in self.path)
        queue = next((one for one in queues if one is not None), None)
        role = _said(f"limits.roles[{self.role}]", self._of_role, name)
        nearer = [one for one in (queue, role) if one is not None]
        return min(nearer, key=lambda one: one.most) if nearer else _said("limits", limits, name)

    def may(self, grant: Grant) -> bool:
        """Whether its owner is an admin, or was granted this: by name, by role, in its queue, or like everybody."""
        limits = self.config.limits
        levels = (limits, self._own, self._of_role, *(limits.queues.get(queue) for queue in self.path))
        return self.role == "admin" or any(one is not None and grant in one.may for one in levels)

    @property
    def _own(self) -> Limits | None:
        return next((user.limits for user in self.config.users if user.name == self.user), None)

    @property
    def _of_role(self) -> Limits | None:
        return next((one for role, one in self.config.limits.roles.items() if role == self.role), None)


def _said(key: str, limits: Limits | None, name: Maximum) -> Bound | None:
    most = None if limits is None else getattr(limits, name)
    return None if most is None else Bound(most, f"{key}.{name}")


def path_of(document: ClusterFile, queue: str | None) -> tuple[str, ...]:
    """A queue and those above it."""
    parents = {one.name: one.parent for one in document.queues}
    path: list[str] = []
    while queue is not None and queue not in path:
        path.append(queue)
        queue = parents.get(queue)
    return tuple(path)


def caps_of(config: ServerConfig, user: str, project: str | None) -> tuple[Cap, ...]:
    """How much the owners of a workload may have under way."""
    caps = config.caps
    in_force = [_cap("user", caps.user, caps.users.get(user), f"caps.users[{user}]")]
    if project is not None:
        in_force.append(_cap("project", caps.project, caps.projects.get(project), f"caps.projects[{project}]"))
    return tuple(in_force)


def _cap(owner: Owner, every: Caps, own: Caps | None, place: str) -> Cap:
    """What is said of one owner by name takes the place of what is said of all."""
    named = set() if own is None else own.model_fields_set
    keys = {key: f"{place if key in named else f'caps.{owner}'}.{key}" for key in Caps.model_fields}
    chosen = {key: getattr(own if key in named else every, key) for key in Caps.model_fields}
    keys |= {f"requests[{name}]": f"{keys['requests']}[{name}]" for name in chosen["requests"]}
    del keys["requests"]
    return Cap(owner, **chosen, keys=keys)


def check_limits(document: ClusterFile, config: ServerConfig) -> None:
    """An InputError names every queue of the limits and defaults that the cluster file does not have."""
    parents = {queue.parent for queue in document.queues if queue.parent is not None}
    names = {queue.name for queue in document.queues}
    problems = [
        Problem(f"limits.queues.{name}", f"no queue is called {shown(name)}", did_you_mean(name, names | parents))
        for name in config.limits.queues
        if name not in names | parents
    ]
    queue = config.defaults.queue
    if queue is not None and queue not in names - parents:
        leaves = sorted(names - parents)
        what = "has queues below it" if queue in parents else "is no queue"
        hint = did_you_mean(queue, leaves) or (f"one of {', '.join(leaves)}" if leaves else None)
        problems.append(Problem("defaults.queue", f"{shown(queue)} {what}", hint))
    if problems:
        raise InputError(problems)


def exceeding(config: ServerConfig, document: ClusterFile, jobs: Iterable[Job]) -> Iterator[SetTerms]:
    """The terms to go on with, of those workloads under way that have more than the limits allow now, or whose owners
    may have more or fewer running than when they were submitted.

    What the administrator gives to who asks for nothing is no excess, whatever the maximum.
    """
    bounds: dict[tuple[str | None, str | None], dict[Maximum, Bound]] = {}
    for job in jobs:
        owner = job.workload.user, job.workload.queue
        if owner not in bounds:
            bounds[owner] = _bounds(config, document, *owner)
        terms, told = job.terms, []
        for name, bound in bounds[owner].items():
            had = OF_TERMS[name](terms)
            most = bound.most if had <= bound.most else max(bound.most, OF_TERMS[name](_usual(config, document, job)))
            if had > most:
                terms = _within(terms, name, most)
                told.append(f"{name} {format_duration(had)} is {format_duration(most)} from now on ({bound.key})")
        running = running_of(caps_of(config, job.workload.user or "", job.workload.project))
        if told or running != terms.running:
            terms = replace(terms, running=running)
            yield SetTerms(job.name, terms, ", ".join(told))


def _bounds(config: ServerConfig, document: ClusterFile, user: str | None, queue: str | None) -> dict[Maximum, Bound]:
    """What holds for workloads of this user in this queue.

    Who is not in the configuration was an admin or a user by its token, and is not taken for less than it was.
    """
    roles = [one.role for one in config.users if one.name == user] or ["admin", "user"]
    path = path_of(document, queue)
    bounds: dict[Maximum, Bound] = {}
    for name in OF_TERMS:
        every = [OwnerLimits(config, user or "", role, path).bound(name) for role in roles]
        some = [one for one in every if one is not None]
        if len(some) == len(every):
            bounds[name] = max(some, key=lambda one: one.most)
    return bounds


def _usual(config: ServerConfig, document: ClusterFile, job: Job) -> Terms:
    """The terms of a workload that asks for none of its own."""
    own, answers = job.workload, job.terms.answers
    sensitive = Sensitive(document)(own)
    return terms_of(config, document, own.queue, Times(), app=own.app or own.name, answers=answers, sensitive=sensitive)


def _within(terms: Terms, name: Maximum, most: int) -> Terms:
    if name == "grace_period":
        return replace(terms, grace_period=most)
    if name == "max_deferral":
        return replace(terms, max_deferral=most)
    if terms.checkpoint_timeout > most:
        return replace(terms, checkpoint_timeout=most, timeout_extension=0.0)
    return replace(terms, timeout_extension=most / terms.checkpoint_timeout - 1)
