"""What becomes of the claimant `in`, in a line."""

from __future__ import annotations

from typing import Any

import cede
from tests.builders import Entry, asking, decided, laws, path, release, running, verdicts

A, B = path("root.a", cpu=4), path("root.b")
IN = asking("in", "root.a", cpu=2)


def work(name: str, queue: str, on: str | None = None, /, **values: Any) -> Entry:
    """Running in this queue; 2 cpu on the only node, if nothing else is said."""
    return running(name, on, queue=queue, **{"cpu": 2, **values})


def victims(*entries: Entry, claimant: str = "in", **doctrine: Any) -> list[str]:
    """Whom the claimant takes by a lawful plan of edition `laws`."""
    return taken(laws(*entries, **doctrine), claimant)


def release_victims(*entries: Entry, claimant: str = "in", **doctrine: Any) -> list[str]:
    """The same by release 1.9."""
    return taken(release(*entries, **doctrine), claimant)


def taken(cluster: cede.Cluster, claimant: str = "in") -> list[str]:
    plan = cede.plan(cluster)
    assert cede.verify(cluster, plan) == []
    made = plan.of(claimant)
    assert made is not None
    return sorted(victim.workload for victim in made.victims)


def waits_by(cluster: cede.Cluster, claimant: str = "in") -> str:
    made = decided(cluster, claimant)
    assert made.action == "wait"
    return made.rule.removeprefix("yunikorn.")


def protected_by(cluster: cede.Cluster, name: str, claimant: str = "in") -> str:
    verdict, rule = verdicts(decided(cluster, claimant, explain=True))[name]
    assert verdict == "protected"
    return rule


def warned(cluster: cede.Cluster, claimant: str = "in") -> set[str]:
    """The rules of all warnings of the decision about the claimant."""
    return {warning.rule.removeprefix("yunikorn.") for warning in decided(cluster, claimant).warnings}
