"""What a plan says in words: decisions with their reasons, candidates, nearest misses and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from cede.doctrines.kueue import rules
from cede.doctrines.kueue.candidates import allowed_by, explain_pool, pool_of
from cede.doctrines.kueue.flavors import FIT, NO_FIT, counts_by_part, flavors_by_part, parts_of
from cede.doctrines.kueue.limits import ExceededLimit
from cede.doctrines.kueue.nominate import Entry, explained
from cede.doctrines.kueue.preemption import may_borrow_and_preempt
from cede.doctrines.kueue.quota import Quotas, named
from cede.doctrines.kueue.search import BORROW, FAIR, OWN, RECLAIM, Notes, Search, Target
from cede.doctrines.kueue.settings import NEVER
from cede.doctrines.kueue.snapshot import HOLDS, TAKES, Claimant, Snapshot
from cede.doctrines.parts.orders import ordered
from cede.model.plan import REQUEUED, Candidate, Decision, Miss, Victim, Warning
from cede.model.rules import Rule
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
    ways = []
    own = quotas.settings(queue)
    if own.within != NEVER:
        ways.append(f"withinClusterQueue is {own.within}")
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
        ways.append(f"{shown} may reclaim what it borrows")
    return "; ".join(ways)


def warnings_of(snapshot: Snapshot, entry: Entry) -> tuple[Warning, ...]:
    """Where the shipped rules break what they are meant to keep."""
    return (*_held_back(snapshot, entry), *_unlawful(entry))


def _unlawful(entry: Entry) -> tuple[Warning, ...]:
    """Victims that only spared ones made lawful: the shipped rules do not look again."""
    breach = entry.outcome.breach
    if not breach:
        return ()
    return (Warning(rules.NEEDLESS.id, rules.NEEDLESS.because(breach=breach)),)


def _held_back(snapshot: Snapshot, entry: Entry) -> Iterator[Warning]:
    """Victims of a queue that is above its quota only by what is held back for its own head."""
    heads = {name for name, word, _ in snapshot.log if word == HOLDS}
    if not heads:
        return
    quota_usage, quotas, contested = snapshot.lasting, snapshot.quotas, entry.assignment.contested
    names, index = snapshot.state.work_names, snapshot.state.work_index
    for victim in entry.victims:
        if victim.queue == entry.claimant.queue or not quota_usage.within(victim.queue, contested):
            continue
        head = next((name for name in sorted(heads) if snapshot.state.work.queue[index[name]] == victim.queue), None)
        if head is not None:
            held = ", ".join(
                f"{quotas.show(pair, quota_usage.used[pair][victim.queue])} of "
                f"{quotas.show(pair, quotas.subtree[pair][victim.queue])} {quotas.name(pair)}"
                for pair in contested
            )
            facts = {"victim": names[victim.row], "queue": quotas.names[victim.queue], "held": held, "head": head}
            yield Warning(rules.HELD.id, rules.HELD.because(**facts))


MOST = 2_000
"""Number of candidates looked at: the largest ones."""


def nearest_miss(snapshot: Snapshot, entry: Entry) -> list[int]:
    """Rows: the largest holders of what is short, taken until the claimant fits; those not needed are spared."""
    assignment = entry.assignment
    if assignment.mode == NO_FIT or not assignment.contested:
        return []
    room = None if assignment.room is None else assignment.room.afresh()
    search = Search(snapshot, entry.claimant, assignment.asked, assignment.contested, room)
    here = np.flatnonzero(snapshot.roots() == snapshot.quotas.root[entry.claimant.queue])
    rows = snapshot.rows[here]
    rows = rows[snapshot.touches(rows, assignment.contested) & ~np.isin(rows, list(snapshot.victims))]
    keys = [-snapshot.usage(pair, rows) for pair in assignment.contested]
    taken: list[Target] = []
    for row in ordered(snapshot.state, rows, *keys)[:MOST].tolist():
        queue = int(snapshot.state.work.queue[row])
        victim = Target(row, queue, OWN, snapshot.everything(row))
        search.take(victim)
        taken.append(victim)
        if search.fits():
            return [kept.row for kept in search.spare(taken, borrowing=True)]
    return []


def misses_of(
    snapshot: Snapshot, rows: list[int], notes: Notes, other: Mapping[int, tuple[Rule, Mapping[str, object]]]
) -> tuple[Miss, ...]:
    """With the rule that protects each; `other` is what is said of those no search came to."""
    misses = []
    for row in rows:
        rule, facts = notes.reasons.get(row) or other[row]
        name = snapshot.state.work_names[row]
        protects = rule.kind in ("protects", "excludes")
        misses.append(
            Miss(name, rule.id if protects else None, rule.because(**facts) if protects else "no rule protects it")
        )
    return tuple(misses)


def candidates_of(snapshot: Snapshot, entry: Entry, *, preempts: bool) -> tuple[Candidate, ...] | None:
    """All that hold room in the claimant's tree, by name; empty if there was no search; None unless asked for."""
    cycle, claimant = snapshot.cycle, entry.claimant
    if not cycle.explain or (cycle.only is not None and cycle.only != claimant.row):
        return None
    if entry.mode == FIT:
        return ()
    notes = _notes(snapshot, entry)
    if not preempts:
        for row in entry.rows:
            how = allowed_by(snapshot, claimant, row)
            notes.put(row, rules.LEAVING if row in snapshot.leaving_rows else rules.TOO_LITTLE, how=how)
    victims = set(entry.rows) if preempts else set()
    names = snapshot.state.work_names
    root = snapshot.quotas.root[claimant.queue]
    rows = snapshot.rows[np.flatnonzero(snapshot.roots() == root)].tolist()
    rows += [row for row in snapshot.left if snapshot.quotas.root[int(snapshot.state.work.queue[row])] == root]
    return tuple(_candidate(snapshot, entry, notes, row, row in victims) for row in sorted(rows, key=names.__getitem__))


def missed_by(snapshot: Snapshot, entry: Entry) -> tuple[Miss, ...]:
    """The workloads that would have made room by leaving; only where they are asked for."""
    if not snapshot.cycle.misses:
        return ()
    rows = nearest_miss(snapshot, entry)
    if not rows:
        return ()
    other = {row: _unreached(snapshot, entry, row) for row in rows}
    return misses_of(snapshot, rows, _notes(snapshot, entry), other)


def _notes(snapshot: Snapshot, entry: Entry) -> Notes:
    if entry.mode != NO_FIT:
        return explained(entry.snapshot, entry) if entry.notes is None else entry.notes
    notes = Notes()
    explain_pool(Search(snapshot, entry.claimant, (), list(range(len(snapshot.quotas.pairs))), None, notes))
    return notes


def _candidate(snapshot: Snapshot, entry: Entry, notes: Notes, row: int, victim: bool) -> Candidate:
    rule, facts = notes.reasons.get(row) or _unreached(snapshot, entry, row)
    other = snapshot.victims.get(row) or snapshot.left.get(row)
    if other is not None:
        rule, facts, victim = rules.TAKEN, {"other": other}, False
    verdict = "victim" if victim else {"protects": "protected", "excludes": "not-eligible"}.get(rule.kind, "not-needed")
    return Candidate(snapshot.state.work_names[row], verdict, rule.id, rule.because(**facts))


def _unreached(snapshot: Snapshot, entry: Entry, row: int) -> tuple[Rule, Mapping[str, object]]:
    """The tournament never came to it."""
    if not entry.claimant.preempts:
        return rules.NOT_ASKED, {"reason": "never preempts others (preempts: false)"}
    if entry.mode == NO_FIT:
        return rules.NOT_ASKED, {"reason": "may not preempt at all while its queue borrows"}
    how = allowed_by(snapshot, entry.claimant, row)
    return (rules.NOT_REACHED if entry.victims else rules.TOO_LITTLE), {"how": how}


NAMED = 5
"""Number of victims named in a sentence."""
SILENT, STARTS = "it waits", "it starts"
"""All that is said where no reasons are asked for."""
RULE_OF = {OWN: rules.WITHIN, RECLAIM: rules.RECLAIM, BORROW: rules.BORROW, FAIR: rules.FAIR}


def refused(name: str, rule: Rule, **facts: object) -> Decision:
    return Decision(name, "refuse", rule.id, rule.because(**facts))


def started(snapshot: Snapshot, entry: Entry, nodes: list[int]) -> Decision:
    """It starts now: its usage counts, its room is taken."""
    claimant, assignment = entry.claimant, entry.assignment
    if not snapshot.cycle.reasons:
        snapshot.charge(claimant, assignment.asked, TAKES)
        return _with_room(snapshot, entry, "start", rules.FITS, STARTS, nodes)
    quotas, quota_usage = snapshot.quotas, snapshot.without_victims()
    beside = ", ".join(
        f"{quotas.name(pair)} {quotas.show(pair, amount)} asked, "
        f"{quotas.show(pair, quota_usage.available(pair, claimant.queue))} available"
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
    if entry.outcome.within_quota and len(entry.victims) > 1:
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
    """All that it needs gone is leaving already: no further victims, and its usage counts."""
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
    """It would have to preempt, and may not or finds no victims."""
    if not entry.claimant.preempts:
        return _wait(snapshot, entry, rules.MAY_NOT)
    if snapshot.silent:
        return _wait(snapshot, entry, rules.UNLAWFUL if entry.outcome.unlawful else rules.NO_VICTIMS)
    settings, assignment = entry.claimant.settings, entry.assignment
    pool = pool_of(Search(entry.snapshot, entry.claimant, assignment.asked, assignment.contested, None))
    count = len(pool.own) + len(pool.others)
    victims = "the policies of its queue let it preempt nothing that holds what is short"
    if count:
        victims = f"of the {count} that its queue's policies let it look at, no lawful choice makes enough room"
    if not settings.preempts:
        names = snapshot.quotas.names
        victims = f"{names[entry.claimant.queue]} preempts nothing (withinClusterQueue and reclaimWithinCohort Never)"
    elif entry.outcome.unlawful:
        shown = ", ".join(sorted(snapshot.state.work_names[victim.row] for victim in entry.outcome.unlawful))
        return _wait(snapshot, entry, rules.UNLAWFUL, victims=shown, breach=entry.outcome.breach)
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
    """An earlier head of the cycle took what it was nominated for."""
    return _wait(snapshot, entry, rules.LOST, others="" if snapshot.silent else _changed(snapshot, entry))


def stuck(snapshot: Snapshot, entry: Entry) -> Decision:
    """It was nominated as fitting, and does not fit."""
    if snapshot.silent:
        return _wait(snapshot, entry, rules.STUCK)
    quotas, contested, queue = snapshot.quotas, set(entry.assignment.contested), entry.claimant.queue
    borrowed = [
        quotas.name(pair)
        for pair, amount in entry.assignment.asked
        if pair not in contested and snapshot.quota_usage.borrows(pair, queue, amount)
    ]
    facts = {"borrowed": ", ".join(borrowed), "needed": ", ".join(map(quotas.name, sorted(contested)))}
    decision = _wait(snapshot, entry, rules.STUCK, **facts)
    warning = Warning(rules.BLOCKS.id, rules.BLOCKS.because(queue=quotas.names[queue]))
    return replace(decision, warnings=(*decision.warnings, warning))


def limited(snapshot: Snapshot, entry: Entry, over: ExceededLimit) -> Decision:
    rule, name = rules.OVER_LIMIT if over.ever else rules.LIMIT, entry.claimant.name
    warnings = warnings_at(snapshot, entry)
    action = "refuse" if over.ever else "wait"
    return Decision(name, action, rule.id, rule.because(**over.facts), warnings=warnings)


def behind(snapshot: Snapshot, claimant: Claimant, head: Claimant, outcome: str) -> Decision:
    """The head in front of it stays there."""
    doing = {
        "preempt": "waits for its victims to leave",
        "await": "waits for its victims to leave",
        "defer": "waits for the victims of others to leave",
        "skip": "is tried again in the next cycle",
        "park": "cannot start",
    }[outcome]
    strategy = "a StrictFIFO queue lets nothing pass" if claimant.settings.strict else "it stays at the head till then"
    queue = snapshot.quotas.names[claimant.queue]
    why = rules.BEHIND.because(head=head.name, queue=queue, doing=doing, strategy=strategy)
    return Decision(claimant.name, "wait", rules.BEHIND.id, why, warnings=warnings_about(snapshot, claimant))


def short(snapshot: Snapshot, entry: Entry) -> str:
    """Which of quota and nodes is short, with the numbers."""
    quotas, quota_usage, queue = snapshot.quotas, snapshot.quota_usage, entry.claimant.queue
    missing = [
        f"{quotas.name(pair)} {quotas.show(pair, amount)} asked, "
        f"{quotas.show(pair, quota_usage.available(pair, queue))} available"
        for pair, amount in entry.assignment.asked
        if amount > quota_usage.available(pair, queue)
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
    """Which heads took or hold back what was free when this one was nominated, and is short now."""
    queue, quota_usage = entry.claimant.queue, snapshot.without_victims()
    short = {pair for pair, amount in entry.assignment.asked if amount > quota_usage.available(pair, queue)}
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
