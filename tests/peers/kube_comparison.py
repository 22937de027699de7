"""What kube-scheduler did with one pod beside what the doctrine decides; where it draws lots, any lot will do."""

from __future__ import annotations

from typing import Any

import numpy as np

import cede
from cede.doctrines.kubernetes.budgets import budgets_of
from cede.doctrines.kubernetes.score import points
from cede.doctrines.kubernetes.settings import KubernetesSettings
from cede.doctrines.kubernetes.victims import dry_run, measures
from cede.doctrines.parts.claim import claim_of
from cede.doctrines.parts.fit import feasible
from cede.state.columns import PREEMPTING, RESERVED
from cede.state.trial import Trial

SAME, TIE, DIFFERS = "same", "tie", "differs"


def verdict_of(file: dict[str, Any], answer: dict[str, Any]) -> tuple[str, str]:
    """`same`, or `tie` if it took another of those that are equal to it, or `differs`; and what was decided."""
    cluster = cede.load(file)
    made = cede.plan(cluster).of(answer["workload"])
    assert made is not None
    problems = cede.verify(cluster, cede.plan(cluster))
    if problems:
        return DIFFERS, f"unlawful: {problems}"
    told = sorted(victim.workload for victim in made.victims if not victim.leaving)
    rooms = {one["name"] for one in file["workloads"] if one.get("state") == "reserved"}
    pods = [name for name in told if name not in rooms]
    said = f"{made.action} {', '.join(made.nodes)} victims {told}: {made.why}"
    if answer["node"] is not None:
        starts = made.action == "start" or (made.action == "preempt" and not pods)
        if starts and made.nodes == (answer["node"],):
            return SAME, said
        return (TIE if starts and answer["node"] in best_starts(cluster, answer["workload"]) else DIFFERS), said
    if answer["nominated"] is None:
        return (SAME if made.action in ("wait", "refuse") and "awaits" not in made.rule else DIFFERS), said
    awaits = made.rule == "kubernetes.awaits-leaving"
    if made.action != "preempt" and not awaits:
        return DIFFERS, said
    where = (made.why.split(" is on ", 1)[-1].split(",", 1)[0],) if awaits else made.nodes
    if where == (answer["nominated"],) and pods == answer["victims"]:
        return SAME, said
    return (
        TIE if (answer["nominated"], answer["victims"]) in best_sites(cluster, answer["workload"]) else DIFFERS
    ), said


def best_starts(cluster: cede.Cluster, name: str) -> list[str]:
    """All nodes of the most points."""
    state = cluster.state
    with Trial(state) as trial:
        trial.keep_apart()
        claim = claim_of(state, state.work_index[name])
        assert claim.need is not None
        nodes = np.flatnonzero(feasible(claim, claim.need, state.nodes.free[:, : state.nodes.size]))
        scores = points(state, claim.need, nodes)
        return [state.node_names[node] for node in nodes[scores == scores.max(initial=0)].tolist()]


def best_sites(cluster: cede.Cluster, name: str) -> list[tuple[str, list[str]]]:
    """All nodes that no criterion tells from the best, with those who must go there."""
    state = cluster.state
    choice = cluster.document.doctrine
    assert choice is not None
    with Trial(state) as trial:
        trial.keep_apart()
        claim = claim_of(state, state.work_index[name])
        assert claim.need is not None
        work, size = state.work, state.work.size
        open_ = (work.priority[:size] < work.priority[claim.row]) & (work.state[:size] >= RESERVED)
        settings = KubernetesSettings.model_validate(choice.settings)
        sites = dry_run(state, claim, claim.need, open_, budgets_of(state, settings))
        least = min((measures(state, site) for site in sites), default=())
        return [
            (
                state.node_names[site.node],
                sorted(state.work_names[row] for row in site.victims if work.state[row] != PREEMPTING),
            )
            for site in sites
            if measures(state, site) == least
        ]
