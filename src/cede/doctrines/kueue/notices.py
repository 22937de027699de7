"""What a user should know of a decision that is otherwise as shipped."""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.quota import Quotas
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import HOLDS, Claimant, Snapshot
from cede.model.plan import Warning
from cede.state.columns import KINDS

INTERACTIVE = KINDS.index("interactive")


def warnings_about(snapshot: Snapshot, claimant: Claimant) -> tuple[Warning, ...]:
    """Interactive work in a queue where it may be preempted."""
    work = snapshot.state.work
    if work.kind[claimant.row] != INTERACTIVE or not work.preemptible[claimant.row]:
        return ()
    settings = preemptive(snapshot.quotas, claimant.queue)
    if not settings:
        return ()
    rule = rules.INTERACTIVE
    return (Warning(rule.id, rule.because(queue=snapshot.quotas.names[claimant.queue], settings=settings)),)


def warnings_at(snapshot: Snapshot, entry: Entry) -> tuple[Warning, ...]:
    """What is to be said of the workload, and of shares where their last bit decided."""
    exactly = [entry.exactly] if entry.exactly else []
    if entry.ahead_of:
        exactly.append(f"{entry.ahead_of} would come before it")
    rule = rules.ROUNDING
    rounding = [Warning(rule.id, rule.because(exactly=" and ".join(exactly)))] if exactly else []
    return (*warnings_about(snapshot, entry.claimant), *rounding)


def preemptive(quotas: Quotas, queue: int) -> str:
    """The settings by which work of this queue may be preempted; nothing if there are none."""
    found = []
    own = quotas.settings(queue)
    if own.within != NEVER:
        found.append(f"withinClusterQueue is {own.within}")
    root = quotas.root[queue]
    takers = [
        quotas.names[other]
        for other in range(quotas.size)
        if other != queue
        and quotas.root[other] == root
        and not quotas.is_cohort(other)
        and quotas.settings(other).reclaim != NEVER
    ]
    if takers:
        shown = ", ".join(sorted(takers)[:3]) + (f" and {len(takers) - 3} more" if len(takers) > 3 else "")
        found.append(f"{shown} may reclaim what it borrows")
    return "; ".join(found)


def warnings_of(snapshot: Snapshot, entry: Entry) -> tuple[Warning, ...]:
    """Where the shipped rules break what they are meant to keep."""
    return (*_held_back(snapshot, entry), *_unlawful(entry))


def _unlawful(entry: Entry) -> tuple[Warning, ...]:
    """Victims that only spared ones made lawful: the shipped rules do not look again."""
    breach = entry.found.breach
    if not breach:
        return ()
    return (Warning(rules.NEEDLESS.id, rules.NEEDLESS.because(breach=breach)),)


def _held_back(snapshot: Snapshot, entry: Entry) -> Iterator[Warning]:
    """Victims of a queue that is above its quota only by what is held back for its own head."""
    heads = {name for name, word, _ in snapshot.log if word == HOLDS}
    if not heads:
        return
    book, quotas, contested = snapshot.lasting, snapshot.quotas, entry.assignment.contested
    names, index = snapshot.state.work_names, snapshot.state.work_index
    for victim in entry.victims:
        if victim.queue == entry.claimant.queue or not book.within(victim.queue, contested):
            continue
        head = next((name for name in sorted(heads) if snapshot.state.work.queue[index[name]] == victim.queue), None)
        if head is not None:
            held = ", ".join(
                f"{quotas.show(pair, book.used[pair][victim.queue])} of "
                f"{quotas.show(pair, quotas.subtree[pair][victim.queue])} {quotas.name(pair)}"
                for pair in contested
            )
            facts = {"victim": names[victim.row], "queue": quotas.names[victim.queue], "held": held, "head": head}
            yield Warning(rules.HELD.id, rules.HELD.because(**facts))
