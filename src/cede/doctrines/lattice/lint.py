"""Settings and work that will not do what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cede.doctrines.lattice.candidates import near_end
from cede.doctrines.lattice.lending import is_sensitive, lending
from cede.doctrines.lattice.node_facts import FINGERPRINT, fingerprints
from cede.doctrines.lattice.settings import HIGHEST, ONLY_POLICY, POLICY, UNPROTECTED, settings_of, vclusters_of
from cede.doctrines.parts.cost import HOUR, NO_CHECKPOINT
from cede.model.lint import Finding
from cede.model.times import show_duration
from cede.state.columns import GONE, NEVER, NONE
from cede.state.state import State


def lint(state: State, edition: str) -> Iterator[Finding]:
    """Findings about the cluster's settings, then its vClusters, then its work."""
    yield from _of_cluster(state, edition)
    for name in sorted(state.tree.index):
        row = state.tree.index[name]
        if state.tree.listed[row]:
            yield from _of_queue(state, edition, name, row)
    yield from _of_work(state, edition)


def _of_cluster(state: State, edition: str) -> Iterator[Finding]:
    settings = settings_of(state)
    given = {} if state.static.doctrine is None else state.static.doctrine.settings
    if edition != POLICY:
        for key in sorted(set(given) & ONLY_POLICY):
            yield Finding(
                "lattice.lint.policy-only",
                f"doctrine.{key}",
                f"edition core does not read {key}",
                "plan with edition policy, or drop the setting",
            )
        return
    if settings.max_victims == 0:
        yield Finding(
            "lattice.lint.no-victims",
            "doctrine.max_victims",
            "no work is ever preempted for a higher class: at most 0 victims are allowed",
            "allow at least 1, or set preempts: false on the work that must not preempt",
        )
    if settings.patience > 24 * HOUR:
        yield Finding(
            "lattice.lint.patience",
            "doctrine.patience",
            f"natural ends are looked for 24h ahead; a patience of {show_duration(settings.patience)} is no longer",
            "24h is the most that has an effect",
        )


def _of_queue(state: State, edition: str, name: str, row: int) -> Iterator[Finding]:
    raw = state.tree.settings(row)
    path = f"queues[{name}].settings"
    others = (state.tree.settings(other).get("type") for other in range(state.tree.size))
    if raw.get("type") is None and any(others):
        yield Finding(
            "lattice.lint.no-type",
            f"queues[{name}]",
            f"{name} has no type: its work is scored by default weights, and no rule of a type protects it",
            "set settings.type to hpc_batch, ml_training, service, sensitive or interactive",
        )
    if edition != POLICY:
        if raw.get("type") == "sensitive" and state.nodes.size and not fingerprints(state).any():
            yield Finding(
                "lattice.lint.nothing-known",
                f"queues[{name}].settings.type",
                f"no node has a {FINGERPRINT} label, so that nothing of the sensitive vCluster {name} ever starts",
                f"give the nodes that it may use their {FINGERPRINT}",
            )
        return
    switches = [key for key in ("allow_borrowing", "allow_lending") if raw.get(key) is True]
    if raw.get("type") == "sensitive" and switches:
        yield Finding(
            "lattice.lint.sensitive-lending",
            f"{path}.{switches[0]}",
            f"{' and '.join(switches)} has no effect: sensitive vClusters neither lend nor borrow",
            "drop the setting",
        )
    if raw.get("allow_lending") is not None and not (state.nodes.home[: state.nodes.size] == row).any():
        yield Finding(
            "lattice.lint.nothing-to-lend",
            f"{path}.allow_lending",
            f"no node has {name} as its home, so that it has nothing to lend",
            f"set home: {name} on its nodes, or drop the setting",
        )


def _of_work(state: State, edition: str) -> Iterator[Finding]:
    work, size = state.work, state.work.size
    there = work.state[:size] != GONE
    top = there & (work.priority[:size] >= HIGHEST) & ~work.sensitive[:size]
    yield from _about(
        state,
        top,
        "lattice.lint.class-10",
        "priority",
        "has class 10 and is not marked sensitive: it is never preempted",
        "mark it sensitive, or give it a class up to 9",
    )
    if edition == POLICY:
        firm = there & (work.checkpoint[:size] == NO_CHECKPOINT) & (work.priority[:size] >= UNPROTECTED) & ~top
        yield from _about(
            state,
            firm & ~work.sensitive[:size],
            "lattice.lint.unpreemptible",
            "checkpoint",
            "writes no checkpoints and has class 7 or above: no higher class preempts it",
            "give it a checkpoint mode, if it can write some",
        )
        settings = settings_of(state)
        short = there & (work.walltime[:size] != NEVER) & (work.walltime[:size] <= settings.near_end)
        yield from _about(
            state,
            short & ~near_end(state, settings) | short & (work.started[:size] == NEVER),
            "lattice.lint.short-walltime",
            "walltime",
            f"has a walltime within near_completion_threshold ({show_duration(settings.near_end)}): "
            "as soon as it has begun no higher class preempts it",
            "that is right for short work; else lower the threshold",
        )
    known = [bool(of_node.get(FINGERPRINT)) for of_node in state.labels.sets]
    labels = np.array(known, np.bool_)[state.nodes.labels[: state.nodes.size]]
    if labels.any() and not labels.all():
        first = min(state.node_names[node] for node in np.flatnonzero(~labels).tolist())
        yield Finding(
            "lattice.lint.no-fingerprint",
            f"nodes[{first}].labels",
            f"{int((~labels).sum())} of {len(labels)} nodes have no {FINGERPRINT} label, as {first}: "
            "whether they are like the others is unknown",
            f"give every node its {FINGERPRINT}, or none",
        )
    if edition == POLICY:
        yield from _loops(state)
    homeless = (state.nodes.home[: state.nodes.size] == NONE).all()
    if edition == POLICY and homeless and state.nodes.size and _lends(state):
        yield Finding(
            "lattice.lint.no-homes",
            "nodes",
            "no node has a home, so that allow_borrowing and allow_lending have no effect",
            "set home on the nodes of each vCluster",
        )


def _loops(state: State) -> Iterator[Finding]:
    """Who is at home on a node, and a guest of a higher class who may use it: each takes it from the other once."""
    work, size = state.work, state.work.size
    vclusters = vclusters_of(state)
    there = np.flatnonzero((work.state[:size] != GONE) & work.preemptible[:size] & ~is_sensitive(state))
    homes = state.nodes.home[: state.nodes.size]
    for home in sorted({int(one) for one in homes if one != NONE}, key=state.tree.names.__getitem__):
        hosts = there[(work.queue[there] == home) & work.preempts[there]]
        queues = work.queue[there]
        guests = there[(queues != home) & vclusters.borrows[queues] & work.preempts[there]]
        if not lending(vclusters)[home] or not len(hosts) or not len(guests):
            continue
        host = min(hosts.tolist(), key=lambda row: (int(work.priority[row]), state.work_names[row]))
        guest = max(guests.tolist(), key=lambda row: (int(work.priority[row]), state.work_names[row]))
        if work.priority[guest] > work.priority[host]:
            names = state.work_names[guest], state.work_names[host]
            yield Finding(
                "lattice.lint.reclaim-loop",
                f"queues[{state.tree.names[home]}].settings.allow_lending",
                f"{names[0]} (class {work.priority[guest]}) may preempt {names[1]} (class {work.priority[host]}) on "
                f"nodes of {state.tree.names[home]}, which takes them back whatever the class: both lose work",
                f"set allow_lending: false on {state.tree.names[home]}, or give its work the higher class",
            )


def _lends(state: State) -> bool:
    keys = ("allow_borrowing", "allow_lending")
    return any(state.tree.settings(row).get(key) is not None for row in range(state.tree.size) for key in keys)


def _about(
    state: State, concerned: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], rule: str, key: str, what: str, hint: str
) -> Iterator[Finding]:
    """One finding for all workloads that are alike in this."""
    names = sorted(state.work_names[row] for row in np.flatnonzero(concerned).tolist())
    if not names:
        return
    others = len(names) - 1
    more = f"; so {'has' if others == 1 else 'have'} {others} other{'' if others == 1 else 's'}" if others else ""
    yield Finding(rule, f"workloads[{names[0]}].{key}", f"{names[0]} {what}{more}", hint)
