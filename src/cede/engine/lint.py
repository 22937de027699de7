"""What a cluster file says that cannot be meant: everything that is found about it, under any doctrine or none."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.catalog import find
from cede.engine.cluster import Cluster
from cede.engine.lint_nodes import node_findings
from cede.engine.lint_queues import queue_findings
from cede.engine.lint_resources import resource_findings
from cede.engine.lint_rules import NO_DOCTRINE, POLICY_RANGE, finding
from cede.engine.lint_workloads import workload_findings
from cede.model.lint import Finding
from cede.state.state import State

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
