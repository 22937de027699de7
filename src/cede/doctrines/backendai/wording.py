"""The numbers that go into this doctrine's sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from string import Formatter

import numpy as np

from cede.doctrines.backendai import rules
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.candidates import Candidates, Facts, held_back
from cede.doctrines.parts.claim import Claim
from cede.doctrines.parts.cover import FindsRoom
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import place
from cede.doctrines.parts.limits import Limit
from cede.doctrines.parts.nearest_miss import nearest_miss
from cede.doctrines.parts.orders import Rows
from cede.doctrines.parts.outcomes import flavors_of, names_of
from cede.doctrines.parts.shortage import free_before, lacking, shortage
from cede.model.plan import ENDED, REQUEUED, Decision, Miss, Victim, Warning
from cede.model.rules import Rule
from cede.model.times import show_duration
from cede.state.columns import KINDS, NEVER, STATES, SUSPENDED, SYSTEM, Int32s
from cede.state.state import State

SCOPES = ("user", "project", "domain")


def facts_about(state: State, claimant: int, settings: Settings) -> Facts:
    """A function from a candidate's row to everything a sentence may name."""
    work = state.work
    ceiling = highest_waiting(state, claimant, settings) if work.kind[claimant] == SYSTEM else None

    def facts(row: int) -> Mapping[str, object]:
        ran = "nothing (it has not begun)"
        if work.started[row] != NEVER:
            ran = show_duration(max(0, state.now - int(work.started[row])))
        return {
            "priority": int(work.priority[row]),
            "claimant_priority": int(work.priority[claimant]),
            "job_priority": int(work.job_priority[row]),
            "claimant_job_priority": int(work.job_priority[claimant]),
            "ceiling": ceiling,
            "threshold": settings.threshold,
            "scope": settings.scope,
            "its_owner": owner_of(state, row, settings.scope),
            "claimant_owner": owner_of(state, claimant, settings.scope),
            "state": STATES[int(work.state[row])],
            "ran": ran,
            "min_runtime": show_duration(settings.min_runtime),
            "node": ", ".join(dict.fromkeys(state.nodes_of(row))),
            "victim": state.work_names[row],
            "claimant": state.work_names[claimant],
            "members": int(work.members[claimant]),
        }

    return facts


def scope_column(state: State, scope: str) -> Int32s | None:
    """The column whose equality makes two workloads of one scope; None if the scope is the whole group."""
    return None if scope not in SCOPES else getattr(state.work, scope)


def owner_of(state: State, row: int, scope: str) -> str:
    column = scope_column(state, scope)
    if column is None:
        return state.partitions.names[int(state.work.partition[row])]
    names = {"user": state.users, "project": state.projects, "domain": state.domains}[scope]
    return names.name(int(column[row])) or "(none)"


def highest_waiting(state: State, row: int, settings: Settings) -> int | None:
    """The highest job priority of those that wait in the session's scope and are no system work.

    Release 26.8 looks for victims below that, for whomever; for a system session alone it does not look at all.
    """
    work = state.work
    others: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    others = others[(work.partition[others] == work.partition[row]) & (work.kind[others] != SYSTEM)]
    column = scope_column(state, settings.scope)
    if column is not None:
        others = others[column[others] == column[row]]
    return int(work.job_priority[others].max()) if len(others) else None


def fate_of(state: State, row: int, settings: Settings) -> str:
    """Whether a victim queues again: as the mode says; suspended interactive and inference work does not."""
    return fate_of_kind(int(state.work.kind[row]), settings)


def fate_of_kind(kind: int, settings: Settings) -> str:
    """The same of one that is of this kind."""
    if settings.mode == "reschedule":
        return REQUEUED
    if settings.mode == "suspend" and KINDS[kind] not in ("interactive", "inference"):
        return REQUEUED
    return ENDED


def pending_rows(state: State, partition: int) -> Rows:
    """Workloads of this group that wait and are not decided yet, in no particular order."""
    rows: Rows = np.fromiter(state.pending, np.intp, len(state.pending))
    waiting: Rows = rows[(state.work.partition[rows] == partition) & (state.work.state[rows] <= SUSPENDED)]
    return waiting


def groups_with_work(state: State) -> list[int]:
    """Partitions that have something pending, by name."""
    codes = {int(state.work.partition[row]) for row in state.pending}
    return sorted(codes, key=state.partitions.names.__getitem__)


def preempting(
    cycle: Cycle,
    claim: Claim,
    settings: Settings,
    candidates: Candidates,
    victims: list[int],
    because: Rule,
    leave: Callable[[int], None],
    nodes: list[int] | None = None,
    warnings: tuple[Warning, ...] = (),
    limits: Sequence[Limit] = (),
) -> Decision:
    """Victims go and the claimant takes their room, best fit unless told where; booked for the rest of the cycle.

    `leave` says what a victim's going means to those who are decided next.
    """
    state = cycle.state
    shown = None
    if cycle.explain:
        facts = facts_about(state, claim.row, settings)
        exclude_elsewhere(state, claim, candidates)
        shown = candidates.explain(state, facts, dict.fromkeys(victims, because), rules.SPARED)
    column, word = (state.work.priority, "priority")
    if because is not rules.LOWER:
        column, word = (state.work.job_priority, "job priority")
    who = ", ".join(f"{state.work_names[row]} ({word} {column[row]})" for row in victims)
    lost = tuple(Victim(state.work_names[row], because.id, fate_of(state, row, settings)) for row in victims)
    limit = rules.QUOTA.because(**limits[0].facts(state), more="") if limits else ""
    before = free_before(state, victims)
    for row in victims:
        leave(row)
    nodes = place(state, claim) if nodes is None else nodes
    assert nodes is not None, "victims that make no room are no victims"
    short = lacking(state, claim, nodes, before) or limit
    why = f"{short}; it has {word} {column[claim.row]} and preempts {who}"
    cycle.trial.book(claim.row, nodes)
    return Decision(
        claim.name,
        "preempt",
        because.id,
        why,
        lost,
        names_of(state, nodes),
        flavors_of(state, claim, nodes),
        warnings=warnings,
        candidates=shown,
    )


def waiting(
    cycle: Cycle,
    claim: Claim,
    settings: Settings,
    candidates: Candidates | None,
    limits: list[Limit],
    rule: Rule,
    cannot: Rule | None = None,
    finds_room: FindsRoom | None = None,
    **facts: object,
) -> Decision:
    """It stays pending. `cannot` is the rule that keeps it from preempting anybody at all.

    Candidates may be left out where nothing but the rule's sentence is told and that does not speak of them.
    """
    state = cycle.state
    if not cycle.words:
        return Decision(claim.name, "wait", rule.id, "")
    if not cycle.told:
        numbers = _numbers(state, claim, candidates, limits, _named_in(rule.sentence)) | facts
        return Decision(claim.name, "wait", rule.id, rule.because(**numbers))
    assert candidates is not None
    numbers = _numbers(state, claim, candidates, limits) | facts
    about = facts_about(state, claim.row, settings)
    missed = tuple(
        _miss(state, row, candidates.rule_of(row), cannot, numbers | dict(about(row)))
        for row in _missed(cycle, claim, limits, finds_room)
    )
    shown = None
    if cycle.explain:
        shown = candidates.explain(state, lambda row: numbers | dict(about(row)), {}, rules.TOO_LITTLE, cannot)
    sentence = rule.because(**numbers)
    return Decision(claim.name, "wait", rule.id, sentence, nearest_miss=missed, candidates=shown)


@cache
def _named_in(sentence: str) -> frozenset[str]:
    """The numbers that a sentence speaks of."""
    return frozenset(name for _, name, _, _ in Formatter().parse(sentence) if name is not None)


def _numbers(
    state: State, claim: Claim, candidates: Candidates | None, limits: list[Limit], named: Collection[str] | None = None
) -> dict[str, object]:
    """What sentences about a wait may say, or only what is named. Candidates that stand elsewhere are excluded."""
    numbers: dict[str, object] = limits[0].facts(state) if limits else {}
    if named is None or "short" in named:
        numbers["short"] = _short(state, claim)
    if candidates is not None and (named is None or "victims" in named):
        exclude_elsewhere(state, claim, candidates)
        count = int(candidates.open.sum())
        numbers["victims"] = (
            f"what it may preempt ({count}) does not make enough" if count else "nothing may be preempted for it"
        )
    if named is None or "matching" in named:
        numbers["matching"] = int(claim.matching.sum())
    numbers["more"] = "".join(f"; {rules.QUOTA.because(**limit.facts(state), more='')}" for limit in limits[1:])
    return numbers


def _missed(cycle: Cycle, claim: Claim, limits: list[Limit], finds_room: FindsRoom | None) -> list[int]:
    """The nearest miss; the same claim in the same state has the same, so that a long queue of equals asks once."""
    if not cycle.misses:
        return []
    state = cycle.state
    key = (
        cycle.trial.mark(),
        int(state.work.partition[claim.row]),
        claim.placement,
        b"".join(need.tobytes() for need in claim.vectors),
        claim.allowed.tobytes(),
        tuple((limit.owner, limit.what, limit.short) for limit in limits),
    )
    if key not in cycle.missed:
        cycle.missed[key] = nearest_miss(state, claim, limits, finds_room)
    return cycle.missed[key]


def _miss(state: State, row: int, rule: Rule | None, cannot: Rule | None, facts: Mapping[str, object]) -> Miss:
    name = state.work_names[row]
    if rule is not None:
        return Miss(name, rule.id, rule.because(**facts))
    if cannot is not None:
        return Miss(name, cannot.id, held_back(cannot, facts))
    return Miss(name, None, "no rule protects it")


def exclude_elsewhere(state: State, claim: Claim, candidates: Candidates) -> None:
    """Exclude those that stand on no node the claimant may use. The search need not; an explanation must."""
    if not state.nodes.size:
        return
    here = np.zeros(state.work.size, np.bool_)
    residents = state.residents
    live = residents.count[: residents.size] > 0
    usable = live & claim.allowed[residents.node[: residents.size]]
    here[residents.work[: residents.size][usable]] = True
    candidates.protect((rules.ELSEWHERE, ~here & candidates.looked))


def _short(state: State, claim: Claim) -> str:
    return shortage(state, claim) if state.nodes.size else "its quota is used up"
