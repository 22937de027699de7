"""Edition `core` of Lattice: the shipped code's victims, taken greedily by cost, for whoever found no room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import cede
from tests.referees.lattice_costs import core_cost
from tests.referees.lattice_policy import never
from tests.referees.lattice_reading import Site, read
from tests.referees.lattice_score import core_score, fingerprint
from tests.referees.reading import Document, Work


@dataclass(frozen=True)
class Answer:
    """What becomes of one workload. `why` is the referee's own word for the rule that decided."""

    action: str
    why: str
    victims: dict[str, str] = field(default_factory=dict)


def lines(site: Site) -> list[list[Work]]:
    """Who waits, vCluster by vCluster, each in its own order; as it is before anybody starts."""
    waiting = [work for work in site.works.values() if work.state in ("pending", "suspended")]

    def key(work: Work) -> tuple[object, ...]:
        by_time = site.type_of(work.asks("queue")) in ("interactive", "sensitive")
        return 0 if by_time else -core_score(site, work), work.submitted, work.uid, work.name

    queues = sorted({work.asks("queue", "") for work in waiting})
    return [sorted((work for work in waiting if work.asks("queue", "") == queue), key=key) for queue in queues]


def victims(site: Site, claimant: Work) -> dict[str, str] | None:
    """Whom the shipped code takes; none if those it may take free too few nodes."""
    eligible = [
        work
        for work in site.works.values()
        if work.state == "running"
        and work.name not in site.gone
        and work.priority < min(claimant.priority, 10)
        and not work.asks("sensitive")
        and work.asks("preemptible", True)
    ]
    found: dict[str, str] = {}
    freed, wanted = 0, len(claimant.needs)
    for work in sorted(eligible, key=lambda work: (core_cost(site, work), work.uid, work.name)):
        if freed >= wanted or len(found) >= site.option("max_victims"):
            break
        found[work.name] = "priority"
        freed += site.size(work)
    return found if freed >= wanted else None


def decide(site: Site, work: Work) -> Answer:
    """What becomes of this workload at its turn."""
    refused = never(site, work)
    if refused:
        return Answer("refuse", refused)
    if site.over_tenant(work):
        return Answer("refuse", "tenant quota")
    if site.over_queue(work):
        return Answer("wait", "queue max")
    if site.fits(work) and _fits_alike(site, work):
        return Answer("start", "fits")
    if site.machines and not site.usable(work):
        return Answer("wait", "no usable node")
    if not work.asks("preempts", True):
        return Answer("wait", "preempts false")
    found = victims(site, work)
    if not found:
        return Answer("wait", "too few")
    return Answer("preempt", "preempt", found)


def _fits_alike(site: Site, work: Work) -> bool:
    """Whether sensitive work finds nodes of one fingerprint; in a sensitive vCluster it must be a known one."""
    claims = site.type_of(work.asks("queue")) == "sensitive"
    if not site.machines or not (claims or work.asks("sensitive")):
        return True
    usable = [one for one in site.usable(work) if not claims or fingerprint(one) is not None]
    groups = [[one for one in usable if fingerprint(one) == word] for word in {fingerprint(one) for one in usable}]
    nobody = dict.fromkeys(set().union(*work.needs), 0)
    rooms = [dict.fromkeys(site.machines, nobody) | site.rooms(group) for group in groups]
    return any(site.holds(work, room) for room in rooms)


def may_take_too_many(site: Site, work: Work) -> bool:
    """Whether its tenant may have a node for each of its members; on fewer it may fit, if it is put there."""
    return not work.exclusive and site.over_tenant(work, on=[str(member) for member in range(len(work.needs))])


def loosely(document: Document) -> Document:
    """The same file, in which nobody asks for one group: the shipped code takes several if none has room."""
    works = [
        {key: value for key, value in work.items() if (key, value) != ("placement", "tight")}
        for work in document["workloads"]
    ]
    return {**document, "workloads": works}


def apart(strict: Site, name: str, nodes: Sequence[str]) -> bool:
    """Whether a gang that asks for one group stands in several though one has room; what is identical counts more."""
    work = strict.works[name]
    if work.asks("placement") != "tight" or any(fingerprint(one) is not None for one in strict.machines.values()):
        return False
    return strict.fits(work) and len({strict.group_of(strict.machines[node]) for node in nodes}) > 1


def plan(document: Document) -> dict[str, Answer]:
    """What the referee would say of each if all others had to wait."""
    site = read(loosely(document))
    return {work.name: decide(site, work) for works in lines(site) for work in works}


def differences(document: Document, made: cede.Plan) -> Iterator[str]:
    """Where a plan decides otherwise than the shipped code would."""
    site, strict, decisions = read(loosely(document)), read(document), iter(made.decisions)
    strict.gone, strict.placed = site.gone, site.placed
    for works in lines(site):
        stops = site.type_of(works[0].asks("queue")) == "interactive"
        blocked = False
        for work in works:
            got = next(decisions, None)
            if got is None or got.workload != work.name:
                yield f"expected {work.name} next, got {got and got.workload}"
                return
            want = decide(site, work)
            if blocked and want.action != "refuse":
                want = Answer("wait", "behind a misfit")
            taken = {victim.workload: victim.reason for victim in got.victims}
            crowded = got.action == "refuse" and may_take_too_many(site, work)
            if (got.action, taken) != (want.action, want.victims) and not crowded:
                told = f"{want.action} {want.victims} ({want.why})"
                yield f"{work.name}: expected {told}, got {got.action} {taken} ({got.rule}: {got.why})"
                return
            blocked |= stops and (got.action in ("wait", "preempt") or want.why in ("too big", "no match"))
            site.gone |= set(taken)
            if got.action == "start" and apart(strict, work.name, got.nodes):
                yield f"{work.name}: one group has room, and it is put in several: {got.nodes}"
            if got.action == "preempt" and not got.warnings and not site.fits(work):
                yield f"{work.name}: the victims do not make it fit, and nobody is told"
            if got.action in ("start", "preempt"):
                site.placed[work.name] = list(got.nodes)
    yield from (f"expected no more, got {got.workload} {got.action}" for got in decisions)
