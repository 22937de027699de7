"""Disruption budgets: whom each covers, and how many more of its members may be disrupted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cede.doctrines.kubernetes.settings import DisruptionBudget, KubernetesSettings
from cede.model.lint import Finding
from cede.state.columns import CHECKPOINTING, RUNNING
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class Budget:
    """One budget in this state."""

    name: str
    covers: frozenset[int]
    allowed: int


def budgets_of(state: State, settings: KubernetesSettings) -> list[Budget]:
    """Every budget, in the order of their names."""
    budgets = []
    for one in sorted(settings.disruption_budgets, key=lambda one: one.name):
        rows = [row for row in state.work_index.values() if covers(state, one, row)]
        budgets.append(Budget(one.name, frozenset(rows), _allowed(state, one, rows)))
    return budgets


def covers(state: State, budget: DisruptionBudget, row: int) -> bool:
    """Whether the workload is in all the lists that the budget gives."""
    work = state.work
    queue = int(work.queue[row])
    return (
        (budget.apps is None or state.apps.name(int(work.app[row])) in budget.apps)
        and (budget.queues is None or (queue >= 0 and state.tree.names[queue] in budget.queues))
        and (budget.workloads is None or state.work_names[row] in budget.workloads)
    )


def _allowed(state: State, budget: DisruptionBudget, rows: list[int]) -> int:
    """What it says, or what follows from what runs. Members of work that is leaving already do not count as running."""
    if budget.allowed is not None:
        return budget.allowed
    members = state.work.members
    healthy = sum(int(members[row]) for row in rows if state.work.state[row] in (RUNNING, CHECKPOINTING))
    if budget.min_available is not None:
        return max(0, healthy - budget.min_available)
    assert budget.max_unavailable is not None, "one of the three is given"
    return max(0, healthy - (sum(int(members[row]) for row in rows) - budget.max_unavailable))


def broken_by(state: State, budgets: list[Budget], rows: Iterable[int]) -> dict[int, Budget]:
    """Of these, in this order, each whose going one after the other breaks a budget, and the first one it breaks.

    Every member counts, and everybody counts on who came before, whether in the end that one goes or not.
    """
    left = [budget.allowed for budget in budgets]
    broken: dict[int, Budget] = {}
    for row in rows:
        for at, budget in enumerate(budgets):
            if row in budget.covers:
                left[at] -= int(state.work.members[row])
                if left[at] < 0:
                    broken.setdefault(row, budget)
    return broken


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
                f"the disruption budget {one.name} covers no workload of this file, so that it protects nothing",
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
