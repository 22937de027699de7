"""Disruption budgets that cannot be meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cede.doctrines.kubernetes.budgets import budgets_of, covers
from cede.doctrines.kubernetes.dialect import KubernetesSettings
from cede.model.lint import Finding
from cede.state.state import State


def lint(state: State, settings: KubernetesSettings) -> Iterator[Finding]:
    """Findings about every budget, by name."""
    names = Counter(one.name for one in settings.disruption_budgets)
    allowed = {budget.name: budget.allowed for budget in budgets_of(state, settings)}
    for one in sorted(settings.disruption_budgets, key=lambda one: one.name):
        path = f"doctrine.disruption_budgets[{one.name}]"
        rows = [row for row in state.work_index.values() if covers(state, one, row)]
        if names[one.name] > 1:
            message = f"{names[one.name]} disruption budgets are called {one.name}"
            yield Finding("kubernetes.lint.budget-twice", path, message, "give each a name of its own")
        if not rows:
            yield Finding(
                "kubernetes.lint.budget-of-nobody",
                path,
                f"the disruption budget {one.name} covers no workload of this file, so that it protects nobody",
                "check the names of apps, queues and workloads",
            )
        elif not allowed[one.name]:
            covered = "the only workload" if len(rows) == 1 else f"any of {len(rows)} workloads"
            yield Finding(
                "kubernetes.lint.budget-used-up",
                path,
                f"the disruption budget {one.name} allows no disruption now; preemption takes {covered} it covers all "
                "the same where nothing else makes room",
                "a higher priority is what protects from preemption; a budget only makes others go first",
            )
