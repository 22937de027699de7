"""Which priorities a workload's owners may use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cede.model.cluster import Policy
from cede.state.entry import own_priority
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Breach:
    """A priority outside what its owner may use; `fixed`: the owner may use its own one only."""

    fixed: bool
    facts: dict[str, object]


def breach_of(state: State, row: int, lowest: int | None, highest: int | None) -> Breach | None:
    """The first policy that the workload's priority breaks; the bounds are those of a policy that gives none."""
    priority = int(state.work.priority[row])
    user, project = owners_of(state, row)
    for owner, policy in policies_of(state, row):
        own = own_priority(state.static, user, project)
        if policy.may_change is False:
            if priority != own:
                return Breach(True, {"owner": owner, "priority": priority, "default": own})
            continue  # the range is for those who may choose
        low = lowest if policy.min_priority is None else policy.min_priority
        high = highest if policy.max_priority is None else policy.max_priority
        if (low is not None and priority < low) or (high is not None and priority > high):
            shown = {"low": "any" if low is None else low, "high": "any" if high is None else high}
            return Breach(False, {"owner": owner, "priority": priority, **shown})
    return None


def owners_of(state: State, row: int) -> tuple[str | None, str | None]:
    """The user and the project of this workload."""
    return state.users.name(int(state.work.user[row])), state.projects.name(int(state.work.project[row]))


def policies_of(state: State, row: int) -> Iterator[tuple[str, Policy]]:
    """The policies that bind this workload, its user's first."""
    user, project = owners_of(state, row)
    for policy in state.static.policies:
        if policy.user is not None and policy.user == user:
            yield f"user {user}", policy
    for policy in state.static.policies:
        if policy.project is not None and policy.project == project:
            yield f"project {project}", policy
