"""Decisions as Kueue's doctrine words them: the numbers that decided, in quota and on nodes."""

from __future__ import annotations

from dataclasses import replace

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidates import pool_of
from cede.doctrines.kueue.explain import candidates_of, missed_by
from cede.doctrines.kueue.flavors import counts_by_part, flavors_by_part, parts_of
from cede.doctrines.kueue.limits import Over
from cede.doctrines.kueue.nominate import Entry
from cede.doctrines.kueue.notices import warnings_about, warnings_at, warnings_of
from cede.doctrines.kueue.preemption import may_borrow_and_preempt
from cede.doctrines.kueue.quota import named
from cede.doctrines.kueue.search import BORROW, FAIR, OWN, RECLAIM, Search
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import HOLDS, TAKES, Claimant, Snapshot
from cede.model.plan import REQUEUED, Decision, Victim, Warning
from cede.model.rules import Rule

NAMED = 5
"""So many victims are named in a sentence."""
SILENT, STARTS = "it waits", "it starts"
"""All that is said where nobody reads why."""
RULE_OF = {OWN: rules.WITHIN, RECLAIM: rules.RECLAIM, BORROW: rules.BORROW, FAIR: rules.FAIR}


def refused(name: str, rule: Rule, **facts: object) -> Decision:
    return Decision(name, "refuse", rule.id, rule.because(**facts))


def started(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Decision:
    """It starts now: its usage counts, its room is taken."""
    claimant, assignment = entry.claimant, entry.assignment
    if not snapshot.cycle.reasons:
        snapshot.charge(claimant, assignment.asked, TAKES)
        return _with_room(snapshot, entry, "start", rules.FITS, STARTS, nodes)
    quotas, book = snapshot.quotas, snapshot.without_victims()
    beside = ", ".join(
        f"{quotas.name(pair)} {quotas.show(pair, amount)} asked, "
        f"{quotas.show(pair, book.available(pair, claimant.queue))} available"
        for pair, amount in assignment.asked
    )
    how = f"quota of {quotas.names[claimant.queue]}: {beside or 'nothing asked'}"
    if assignment.level:
        how += f"; it borrows, {_level(assignment.level)}"
    if fewer := counts_by_part(claimant, assignment):
        how += f"; with fewer members: {', '.join(f'{name} {count}' for name, count in fewer.items())}"
    snapshot.charge(claimant, assignment.asked, TAKES)
    return _with_room(snapshot, entry, "start", rules.FITS, rules.FITS.because(how=how), nodes)


def preempting(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Decision:
    """It starts when its victims have left; its usage counts beside theirs until then."""
    state, claimant = snapshot.state, entry.claimant
    rule = RULE_OF[entry.victims[0].reason]
    if snapshot.over:
        _take(snapshot, entry)
        snapshot.charge(claimant, entry.assignment.asked, TAKES)
        return _with_room(snapshot, entry, "preempt", rule, SILENT, nodes)
    who = ", ".join(
        f"{state.work_names[victim.row]} ({_where(snapshot, claimant, victim.queue)}priority "
        f"{int(state.work.priority[victim.row])}, {victim.reason})"
        for victim in entry.victims[:NAMED]
    )
    if len(entry.victims) > NAMED:
        who += f" and {len(entry.victims) - NAMED} more"
    why = f"{short(snapshot, entry)}; it has priority {claimant.priority} and preempts {who}"
    if entry.found.within_quota and len(entry.victims) > 1:
        why += f"; so it stays within the quota of {snapshot.quotas.names[claimant.queue]}, which it must to take these"
    warnings = warnings_of(snapshot, entry)
    candidates = candidates_of(snapshot, entry, preempts=True)
    names, leaving = state.work_names, snapshot.leaving_rows
    ids = {reason: rule.id for reason, rule in RULE_OF.items()}
    victims = [Victim(names[v.row], v.reason, REQUEUED, v.row in leaving, ids[v.reason]) for v in entry.victims]
    _take(snapshot, entry)
    snapshot.charge(claimant, entry.assignment.asked, TAKES)
    decision = _with_room(snapshot, entry, "preempt", rule, why, nodes)
    return replace(decision, victims=tuple(victims), warnings=decision.warnings + warnings, candidates=candidates)


def awaiting(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Decision:
    """Everyone it needs gone is leaving already: nobody else goes, and its usage counts."""
    state = snapshot.state
    names = ", ".join(sorted(state.work_names[row] for row in entry.rows))
    decision = _wait(snapshot, entry, rules.AWAITS, victims=names)
    snapshot.victims.update(dict.fromkeys(entry.rows, entry.claimant.name))  # on nodes they are there till they left
    snapshot.charge(entry.claimant, entry.assignment.asked, TAKES)
    _book(snapshot, entry, nodes)
    return decision


def deferred(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Decision:
    """It fits when the victims of earlier heads have left: its usage counts from now on."""
    decision = _wait(snapshot, entry, rules.DEFERRED, others=_others(snapshot))
    snapshot.charge(entry.claimant, entry.assignment.asked, TAKES)
    _book(snapshot, entry, nodes)
    return decision


def no_victims(snapshot: Snapshot, entry: Entry) -> Decision:
    """It would have to preempt, and may not or finds nobody."""
    if not entry.claimant.preempts:
        return _wait(snapshot, entry, rules.MAY_NOT)
    if snapshot.silent:
        return _wait(snapshot, entry, rules.UNLAWFUL if entry.found.unlawful else rules.NO_VICTIMS)
    settings, assignment = entry.claimant.settings, entry.assignment
    pool = pool_of(Search(entry.snapshot, entry.claimant, assignment.asked, assignment.contested, None))
    count = len(pool.own) + len(pool.others)
    victims = "the policies of its queue let it preempt nobody who holds what is short"
    if count:
        victims = f"of the {count} that its queue's policies let it look at, no lawful choice makes enough room"
    if not settings.preempts:
        names = snapshot.quotas.names
        victims = f"{names[entry.claimant.queue]} preempts nobody (withinClusterQueue and reclaimWithinCohort Never)"
    elif entry.found.unlawful:
        shown = ", ".join(sorted(snapshot.state.work_names[victim.row] for victim in entry.found.unlawful))
        return _wait(snapshot, entry, rules.UNLAWFUL, victims=shown, breach=entry.found.breach)
    decision = _wait(snapshot, entry, rules.NO_VICTIMS, victims=victims)
    return replace(decision, nearest_miss=missed_by(snapshot, entry))


def no_fit(snapshot: Snapshot, entry: Entry) -> Decision:
    """No flavor will do, now or ever."""
    assignment, claimant = entry.assignment, entry.claimant
    queue = snapshot.quotas.names[claimant.queue]
    reasons = "; ".join(assignment.whys)
    if assignment.undeclared:
        return _refuse(snapshot, entry, rules.UNDECLARED, queue=queue, resources=", ".join(assignment.undeclared))
    if assignment.hopeless:
        if assignment.never_on_nodes:
            return _refuse(snapshot, entry, rules.FITS_NO_NODE, short=reasons)
        return _refuse(snapshot, entry, rules.EXCEEDS, queue=queue, reasons=reasons)
    settings = f"borrowWithinCohort {NEVER}"
    if snapshot.mode.fair:
        settings += f", reclaimWithinCohort {claimant.settings.reclaim}"
    assert assignment.whys or not may_borrow_and_preempt(snapshot, claimant)
    return _wait(snapshot, entry, rules.MAY_NOT_BORROW, short=reasons, queue=queue, settings=settings)


def lost(snapshot: Snapshot, entry: Entry) -> Decision:
    """Somebody earlier in the cycle took what it was nominated for."""
    return _wait(snapshot, entry, rules.LOST, others="" if snapshot.silent else _changed(snapshot, entry))


def stuck(snapshot: Snapshot, entry: Entry) -> Decision:
    """It was nominated as fitting, and does not fit."""
    if snapshot.silent:
        return _wait(snapshot, entry, rules.STUCK)
    quotas, contested, queue = snapshot.quotas, set(entry.assignment.contested), entry.claimant.queue
    borrowed = [
        quotas.name(pair)
        for pair, amount in entry.assignment.asked
        if pair not in contested and snapshot.book.borrows(pair, queue, amount)
    ]
    facts = {"borrowed": ", ".join(borrowed), "needed": ", ".join(map(quotas.name, sorted(contested)))}
    decision = _wait(snapshot, entry, rules.STUCK, **facts)
    warning = Warning(rules.BLOCKS.id, rules.BLOCKS.because(queue=quotas.names[queue]))
    return replace(decision, warnings=(*decision.warnings, warning))


def limited(snapshot: Snapshot, entry: Entry, over: Over) -> Decision:
    rule, name = rules.OVER_LIMIT if over.ever else rules.LIMIT, entry.claimant.name
    warnings = warnings_at(snapshot, entry)
    action = "refuse" if over.ever else "wait"
    return Decision(name, action, rule.id, rule.because(**over.facts), warnings=warnings)


def behind(snapshot: Snapshot, claimant: Claimant, head: Claimant, outcome: str) -> Decision:
    """Somebody in front of it stays there."""
    doing = {
        "preempt": "waits for its victims to leave",
        "await": "waits for its victims to leave",
        "defer": "waits for the victims of others to leave",
        "skip": "is tried again in the next cycle",
        "park": "cannot start",
    }[outcome]
    strategy = "a StrictFIFO queue lets nobody pass" if claimant.settings.strict else "it stays at the head till then"
    queue = snapshot.quotas.names[claimant.queue]
    why = rules.BEHIND.because(head=head.name, queue=queue, doing=doing, strategy=strategy)
    return Decision(claimant.name, "wait", rules.BEHIND.id, why, warnings=warnings_about(snapshot, claimant))


def short(snapshot: Snapshot, entry: Entry) -> str:
    """Which of quota and nodes is short, with the numbers."""
    quotas, book, queue = snapshot.quotas, snapshot.book, entry.claimant.queue
    missing = [
        f"{quotas.name(pair)} {quotas.show(pair, amount)} asked, "
        f"{quotas.show(pair, book.available(pair, queue))} available"
        for pair, amount in entry.assignment.asked
        if amount > book.available(pair, queue)
    ]
    nodes = entry.assignment.short_of_nodes
    if missing and nodes:
        return f"quota is short ({'; '.join(missing)}) and so are nodes ({nodes})"
    if nodes:
        return f"nodes are short ({nodes}), quota is not"
    if not missing:
        return f"{named(quotas, entry.assignment.asked)} asked"
    return f"quota is short ({'; '.join(missing)}){', nodes are not' if snapshot.state.nodes.size else ''}"


def _wait(snapshot: Snapshot, entry: Entry, rule: Rule, **facts: object) -> Decision:
    if snapshot.silent:
        return Decision(entry.claimant.name, "wait", rule.id, SILENT)
    facts.setdefault("short", short(snapshot, entry))
    return Decision(
        entry.claimant.name,
        "wait",
        rule.id,
        rule.because(**facts),
        warnings=warnings_at(snapshot, entry),
        candidates=candidates_of(snapshot, entry, preempts=False),
    )


def _refuse(snapshot: Snapshot, entry: Entry, rule: Rule, **facts: object) -> Decision:
    return Decision(
        entry.claimant.name,
        "refuse",
        rule.id,
        rule.because(**facts),
        warnings=warnings_at(snapshot, entry),
        candidates=() if snapshot.cycle.explain else None,
    )


def _with_room(snapshot: Snapshot, entry: Entry, action: str, rule: Rule, why: str, nodes: list[int]) -> Decision:
    claimant, assignment = entry.claimant, entry.assignment
    _book(snapshot, entry, nodes)
    if snapshot.over:
        return Decision(claimant.name, action, rule.id, why)
    return Decision(
        claimant.name,
        action,
        rule.id,
        why,
        nodes=tuple(snapshot.state.node_names[node] for node in nodes),
        flavors=dict(flavors_by_part(claimant, assignment)),
        counts=counts_by_part(claimant, assignment),
        warnings=warnings_at(snapshot, entry),
    )


def _take(snapshot: Snapshot, entry: Entry) -> None:
    """Its victims are its own from now on; on nodes their room is free, in quota they count until they are gone."""
    for victim in entry.victims:
        snapshot.victims[victim.row] = entry.claimant.name
        snapshot.evict(victim.row)


def _book(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> None:
    snapshot.place(entry.claimant.row, nodes, parts_of(snapshot, entry.claimant, entry.assignment))


def _others(snapshot: Snapshot) -> str:
    return ", ".join(sorted({*snapshot.victims.values(), *snapshot.left.values()}))


def _changed(snapshot: Snapshot, entry: Entry) -> str:
    """Who took or held back, of what is short now, what was free when the head was nominated."""
    queue, book = entry.claimant.queue, snapshot.without_victims()
    short = {pair for pair, amount in entry.assignment.asked if amount > book.available(pair, queue)}
    parts = []
    for word in (TAKES, HOLDS):
        changes = [(name, pairs) for name, did, pairs in snapshot.log[entry.seen :] if did == word]
        names = list(dict.fromkeys(name for name, pairs in changes if not short or pairs & short))
        if names:
            shown = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
            parts.append(f"{word}: {shown}")
    return "; ".join(parts)


def _level(level: int) -> str:
    return f"{level} level{'s' if level > 1 else ''} up the tree"


def _where(snapshot: Snapshot, claimant: Claimant, queue: int) -> str:
    return "" if queue == claimant.queue else f"of {snapshot.quotas.names[queue]}, "
