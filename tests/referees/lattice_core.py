"""Edition `core` of Lattice: the shipped code's victims, taken greedily by cost, for whoever found no room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import cede
from tests.referees import lattice_core_places as places
from tests.referees.lattice_costs import core_cost
from tests.referees.lattice_policy import never
from tests.referees.lattice_reading import Site, read
from tests.referees.lattice_score import core_score
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


def decide(site: Site, wished: Site, work: Work) -> Answer:
    """What becomes of this workload at its turn."""
    refused = never(site, work)
    if refused:
        return Answer("refuse", refused)
    if site.over_tenant(work):
        return Answer("refuse", "tenant quota")
    if site.over_queue(work):
        return Answer("wait", "queue max")
    if places.fits(site, wished, work.name):
        return Answer("start", "fits")
    if site.machines and not site.usable(work):
        return Answer("wait", "no usable node")
    if not work.asks("preempts", True):
        return Answer("wait", "preempts false")
    found = victims(site, work)
    if not found:
        return Answer("wait", "too few")
    return Answer("preempt", "preempt", found)


def may_take_too_many(site: Site, work: Work) -> bool:
    """Whether its tenant may have a node for each of its members; on fewer it may fit, if it is put there."""
    return not work.exclusive and site.over_tenant(work, on=[str(member) for member in range(len(work.needs))])


def loosely(document: Document) -> Document:
    """The same file, in which nobody has a wish for its placement: to the shipped code it is no condition."""
    works = [{key: value for key, value in work.items() if key != "placement"} for work in document["workloads"]]
    return {**document, "workloads": works}


def both(document: Document) -> tuple[Site, Site]:
    """The site without wishes and with them; who leaves one or comes there does so in the other."""
    site, wished = read(loosely(document)), read(document)
    wished.gone, wished.placed = site.gone, site.placed
    return site, wished


def plan(document: Document) -> dict[str, Answer]:
    """What the referee would say of each if all others had to wait."""
    site, wished = both(document)
    return {work.name: decide(site, wished, work) for works in lines(site) for work in works}


def differences(document: Document, made: cede.Plan) -> Iterator[str]:
    """Where a plan decides otherwise than the shipped code would."""
    (site, wished), decisions = both(document), iter(made.decisions)
    for works in lines(site):
        stops = site.type_of(works[0].asks("queue")) == "interactive"
        blocked = False
        for work in works:
            got = next(decisions, None)
            if got is None or got.workload != work.name:
                yield f"expected {work.name} next, got {got and got.workload}"
                return
            want = decide(site, wished, work)
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
            fits = places.fits(site, wished, work.name)
            if got.action in ("start", "preempt") and fits and site.alike(work):
                nodes = places.place(site, wished.works[work.name])
                if nodes is not None and Counter(nodes) != Counter(got.nodes):
                    yield f"{work.name}: expected on {nodes}, got {got.nodes}"
            if got.action == "preempt" and not got.warnings and not fits:
                yield f"{work.name}: the victims do not make it fit, and nobody is told"
            if got.action in ("start", "preempt"):
                site.placed[work.name] = list(got.nodes)
    yield from (f"expected no more, got {got.workload} {got.action}" for got in decisions)
