"""Whether a plan is lawful, re-derived from the state by code that chose nothing.

Written without the parts that search: amounts are summed anew from what stands where, workload by workload.
Shared by all doctrines: nobody is decided or evicted twice, gangs are whole, members stand on nodes they may
use, and nothing is oversubscribed once victims have left. A doctrine adds what its edition promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cede.doctrines.catalog import doctrine_of
from cede.doctrines.parts.doctrine import Audit, Doctrine
from cede.engine.cluster import Cluster
from cede.engine.cycle import choice_of
from cede.engine.ledger import Ledger
from cede.engine.verify_records import lawful_moves
from cede.engine.verify_starts import lawful_starts
from cede.model.plan import ACTIONS, Decision, Plan
from cede.state.columns import STATES, Bools
from cede.state.state import State

Usable = Callable[[State, str, int], Bools | None]
"""Nodes that a doctrine's own rules let a workload stand on."""


def verify(cluster: Cluster, plan: Plan) -> list[str]:
    """What is wrong with this plan of this cluster; nothing, if it is lawful."""
    return verify_state(cluster.state, doctrine_of(cluster.document.doctrine), plan)


def verify_state(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool = True) -> list[str]:
    """The same on live columns. If not `whole`, nobody looks through all nodes for a way without some of the victims,
    and what queues hold is taken from the state: what the plan does to those it names is checked all the same."""
    apart = doctrine.traits.one_node and any(len(set(made.nodes)) > 1 for made in plan.decisions)
    apart = apart or (doctrine.usable is not None and _restricted(state, doctrine.usable, plan))
    signed = not apart and _signed(plan, doctrine, choice_of(state).edition)
    if signed and _has_room(state, doctrine, plan, whole=whole):
        # Where nothing leaves and nothing is held, starts are audited by the whole check alone.
        plain = not (whole or state.between or state.static.flavored_quota)
        if plain and not any([made.victims for made in plan.decisions]):  # noqa: C419
            return []
        audit = _audit(state, doctrine, plan, whole=whole)
        return [f"{made.workload}: {objection}" for made in plan.decisions for objection in audit(made)]
    return list(_complaints(state, doctrine, plan, whole))


def _has_room(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool) -> bool:
    """Whether it only decides what is plain, and of that all has its room that must; False says nothing."""
    if state.static.tenants or state.static.policies or not state.node_names or state.reservations:
        return False
    if plan.version != state.version:
        return False
    if len(state.records) == len(state.work_index) and not state.units.flavored:
        exact, falls_short = plan.edition in doctrine.traits.exact, doctrine.traits.falls_short
        return lawful_moves(state, plan, whole=whole, exact=exact, falls_short=falls_short)
    return lawful_starts(state, plan, whole=whole)


def _restricted(state: State, usable: Usable, plan: Plan) -> bool:
    """Whether the doctrine's own rules keep one that is decided about from some node."""
    rows = (state.work_index.get(made.workload or "") for made in plan.decisions)
    return any(row is None or usable(state, plan.edition, row) is not None for row in rows)


def _signed(plan: Plan, doctrine: Doctrine, edition: str) -> bool:
    """Whether it is a plan of this doctrine, and every decision has its rule and reason."""
    name = doctrine.dialect.name
    if plan.doctrine != name or plan.edition != edition:
        return False
    start = f"{name}."
    for made in plan.decisions:  # noqa: SIM110 - all() takes three times as long
        if not made.why or not made.rule.startswith(start):
            return False
    return True


def _complaints(state: State, doctrine: Doctrine, plan: Plan, whole: bool) -> Iterator[str]:
    if (plan.doctrine, plan.edition) != (doctrine.name, choice_of(state).edition):
        yield f"the plan is of {plan.doctrine} {plan.edition}, the state of {doctrine.name} {choice_of(state).edition}"
    if plan.version != state.version:
        yield f"the plan was made from version {plan.version}, the state is at {state.version}"
    cancels = doctrine.cancels
    cancelled = None if cancels is None else partial(cancels, state, plan.edition)
    takes_cordoned = doctrine.takes_cordoned
    usable = None if doctrine.usable is None else partial(doctrine.usable, state, plan.edition)
    ledger = Ledger(
        state,
        cancelled,
        doctrine.tolerates,
        leaving_counts=doctrine.traits.leaving_counts,
        usable=usable,
        cordoned=None if takes_cordoned is None else partial(takes_cordoned, state, plan.edition),
        strict=plan.edition not in doctrine.traits.loose,
        anew=whole,
    )
    try:
        audit = _audit(state, doctrine, plan, whole=whole)
        exact = whole and plan.edition in doctrine.traits.exact
        yield from _objections(state, doctrine, plan, ledger, audit, exact=exact)
    finally:
        ledger.close()


def _audit(state: State, doctrine: Doctrine, plan: Plan, *, whole: bool) -> Audit:
    brisk = doctrine.audit_touched
    return doctrine.audit(state, plan.edition) if whole or brisk is None else brisk(state, plan.edition)


def _objections(
    state: State, doctrine: Doctrine, plan: Plan, ledger: Ledger, audit: Audit, *, exact: bool
) -> Iterator[str]:
    decided: set[str] = set()
    evicted: set[str] = set()
    for made in plan.decisions:
        about = made.workload or "nobody"
        if made.action not in ACTIONS:
            yield f"{about}: {made.action!r} is no action"
        if not made.rule.startswith(f"{doctrine.name}.") or not made.why:
            yield f"{about}: the decision has no rule or no reason"
        strangers = list(_strangers(state, made))
        yield from strangers
        if strangers:
            continue
        if made.workload is not None:
            yield from _claimant(state, made, decided)
        for victim in made.victims:
            if victim.workload in evicted:
                yield f"{victim.workload} is evicted twice"
            evicted.add(victim.workload)
            if victim.leaving and _word(state, victim.workload) != "preempting":
                yield f"{victim.workload} is {_word(state, victim.workload)}, not leaving already"
        for objection in audit(made):
            yield f"{about}: {objection}"
        if made.action in ("start", "preempt") and made.workload is not None:
            short = any(warning.rule == doctrine.traits.falls_short for warning in made.warnings)
            complaints = list(_room(state, ledger, made, exact=exact))
            yield from () if short and made.victims else complaints
        elif made.victims and made.workload is not None:
            yield f"{about}: victims, but no preemption"
        elif made.workload is None:
            for victim in made.victims:
                ledger.leave(victim.workload)


def _strangers(state: State, made: Decision) -> Iterator[str]:
    """Names that the state does not know; nothing else can be said of a decision that has some."""
    works = [victim.workload for victim in made.victims] + ([] if made.workload is None else [made.workload])
    yield from (f"no workload is called {name}" for name in works if name not in state.work_index)
    yield from (f"no node is called {name}" for name in made.nodes if name not in state.node_index)


def _claimant(state: State, made: Decision, decided: set[str]) -> Iterator[str]:
    assert made.workload is not None
    if made.workload in decided:
        yield f"{made.workload} is decided twice"
    decided.add(made.workload)
    word = _word(state, made.workload)
    if word not in ("pending", "suspended"):
        yield f"{made.workload} is {word}, not waiting"
    if (made.action == "preempt") != bool(made.victims):
        yield f"{made.workload}: {made.action} with {len(made.victims)} victims"


def _word(state: State, name: str) -> str:
    return STATES[state.code_of(state.work_index[name])]


def _room(state: State, ledger: Ledger, made: Decision, *, exact: bool) -> Iterator[str]:
    assert made.workload is not None
    name = made.workload
    yield from ledger.admit(made)
    ledger.meant[state.work_index[name]] = len(set(made.nodes))
    if exact:
        for victim in made.victims:
            others = [other.workload for other in made.victims if other is not victim]
            if ledger.could_hold(name, without=others):
                yield f"{name} would fit without the eviction of {victim.workload}"
        if made.victims and ledger.could_hold(name, without=[]):
            yield f"{name} would fit without any eviction"
    for victim in made.victims:
        ledger.leave(victim.workload)
    if state.nodes.size:
        members = len(ledger.members(name))
        if len(made.nodes) != members:
            yield f"{name}: {len(made.nodes)} nodes for {members} members"
        yield from ledger.misplaced(name, made.nodes)
    yield from ledger.enter(name, made.nodes)
