"""Edition `policy` of Lattice by brute force: every set of eligible workloads is tried, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import cede
from tests.referees.lattice_costs import cost, value
from tests.referees.lattice_places import Reservation, fewest_lent, lent_to, place, reserve, room_at
from tests.referees.lattice_reading import Site, read
from tests.referees.lattice_score import score
from tests.referees.reading import Amounts, Document, Work

REASONS = ("sensitive", "reclaim", "priority")


@dataclass(frozen=True)
class Answer:
    """What becomes of one workload. `why` is the referee's own word for the rule that decided.

    `cost` is that of its victims and `least` that of the cheapest set, in millionths of a minute; `nodes` is None
    where they are the scheduler's own business, save that at most `lent` of its members stand on borrowed nodes.
    """

    action: str
    why: str
    victims: dict[str, str] = field(default_factory=dict)
    nodes: list[str] | None = None
    cost: int = 0
    least: int = 0
    lent: int = 0


# -- who may be taken --------------------------------------------------------------------------------------------------


def verdicts(site: Site, claimant: Work) -> dict[str, str]:
    """Of everybody who holds room where the claimant may go: the reason to take it, or what protects it."""
    usable = {machine.name for machine in site.usable(claimant)}
    return {
        other.name: verdict(site, claimant, other)
        for other in site.holders()
        if usable & set(site.standing(other)) and other.name not in site.placed
    }


def verdict(site: Site, claimant: Work, other: Work) -> str:
    """One of REASONS, or a word for what protects this candidate."""
    if other.state != "running":
        return "not running"
    if other.asks("preemptible", True) is False:
        return "asks not to be"
    if site.sensitive(other):
        return "is sensitive"
    if site.is_claim(claimant):
        return "sensitive"
    if near_completion(site, other):
        return "near completion"
    queue, mine = other.asks("queue"), claimant.asks("queue")
    held = [site.machines[name] for name in other.nodes]
    lent = [one for one in site.usable(claimant) if one in held and one.entry.get("home") == mine]
    lent = [one for one in lent if site.could_take_more(claimant, one)]
    if mine is not None and queue != mine and lent:
        return "reclaim"
    if other.priority >= claimant.priority:
        return "class"
    if site.checkpoint(other)[0] == "none" and other.priority >= 7:
        return "no checkpoint"
    if site.type_of(queue) == "service" and not all(site.borrowed(machine, queue) for machine in held):
        return "service at home"
    return "priority"


def near_completion(site: Site, work: Work) -> bool:
    walltime = site.walltime(work)
    if work.started is None or walltime is None:
        return False
    return work.started + walltime - site.now <= site.span("near_completion_threshold")


# -- the set -----------------------------------------------------------------------------------------------------------


@dataclass
class Sets:
    """All sets of those who may be taken for one claimant."""

    site: Site
    claimant: Work
    reasons: Mapping[str, str]
    costs: dict[str, int] = field(init=False)
    rooms: dict[str, Amounts] = field(init=False)

    def __post_init__(self) -> None:
        self.costs = {name: cost(self.site, self.site.works[name]) for name in self.reasons}
        self.usable = self.site.usable(self.claimant)
        self.rooms = self.site.rooms(self.usable)
        self.value = value(self.site, self.claimant)

    def total(self, names: Collection[str]) -> int:
        return sum(self.costs[name] for name in names)

    def fits(self, names: Collection[str]) -> bool:
        """Whether the claimant fits when these have left."""
        rooms = {name: dict(room) for name, room in self.rooms.items()}
        for name in names:
            work = self.site.works[name]
            for node, need in zip(work.nodes, work.needs, strict=True):
                if node in rooms:
                    for key, amount in need.items():
                        rooms[node][key] = rooms[node].get(key, 0) + amount
        return self.site.holds(self.claimant, rooms, self.usable)

    def broken(self, names: Collection[str]) -> str:
        """Which limit on a decision these victims break; empty if none."""
        lower = [name for name in names if self.reasons[name] == "priority"]
        if len(lower) > self.site.option("max_victims"):
            return "max victims"
        if lower and self.site.option("value_rule") is not False and self.total(lower) >= self.value:
            return "value"
        return ""

    def feasible(self, names: Collection[str]) -> bool:
        return not self.broken(names) and self.fits(names)

    def preference(self, names: Collection[str]) -> tuple[object, ...]:
        works = [self.site.works[name] for name in names]
        return (
            len(works),
            self.total(names),
            sorted((work.priority for work in works), reverse=True),
            sorted(work.uid for work in works),
            sorted(names),
        )

    def best(self) -> tuple[tuple[str, ...] | None, int]:
        """The preferred set, and what the cheapest one costs."""
        if not self.fits(self.reasons):
            return None, 0
        every = [names for size in range(len(self.reasons) + 1) for names in combinations(sorted(self.reasons), size)]
        least: int | None = None
        found: list[tuple[str, ...]] = []
        for names in sorted(every, key=self.total):
            if least is not None and 10 * self.total(names) > 11 * least:
                break
            if self.feasible(names):
                least = self.total(names) if least is None else least
                found.append(names)
        return min(found, key=self.preference, default=None), least or 0

    def why_none(self) -> str:
        """What stands in the way of every set."""
        if not self.fits(self.reasons):
            return "no room"
        sizes = range(len(self.reasons) + 1)
        every = (names for size in sizes for names in combinations(self.reasons, size) if self.fits(names))
        return " or ".join(sorted({self.broken(names) for names in every}))


# -- one workload ------------------------------------------------------------------------------------------------------


def decide(site: Site, work: Work, reservation: Reservation | None) -> Answer:
    """What becomes of this workload at its turn."""
    refused = never(site, work)
    if refused:
        return Answer("refuse", refused)
    if site.over_tenant(work):
        return Answer("refuse", "tenant quota")
    if site.over_queue(work):
        return Answer("wait", "queue max")
    if site.fits(work):
        return _start(site, work, reservation)
    if work.asks("preempts", True) is False:
        return Answer("wait", "preempts false")
    patience = site.span("patience")
    if patience > 0 and not site.is_claim(work):
        at = room_at(site, work, site.ends())
        if at is not None and at <= site.now + patience:
            return Answer("wait", "patience")
    found = verdicts(site, work)
    sets = Sets(site, work, {name: reason for name, reason in found.items() if reason in REASONS})
    names, least = sets.best()
    if names is None:
        return Answer("wait", sets.why_none())
    victims = {name: sets.reasons[name] for name in names}
    there = site.rooms(sets.usable, names)
    back = "reclaim" in victims.values()
    nodes = place(site, work, there, home_first=back) if site.alike(work) else None
    if not _within(site, work, nodes):
        return Answer("refuse", "tenant quota")
    lent = fewest_lent(site, work, there)
    return Answer("preempt", "preempt", victims, nodes, sets.total(names), least, lent)


def _start(site: Site, work: Work, reservation: Reservation | None) -> Answer:
    """It fits in idle room; whether it may go there beside who is ahead of it."""
    how, rooms = "fits", site.rooms(site.usable(work))
    nodes = place(site, work, rooms) if site.alike(work) else None
    if reservation is not None and not site.is_claim(work):
        how = "fits in time" if reservation.in_time(site, work) else "fits beside"
        if how == "fits beside" and not (nodes and reservation.allows(work, nodes)):
            narrow = reservation.rooms(site, work)
            if site.holds(work, narrow):
                rooms, nodes = narrow, place(site, work, narrow) if site.alike(work) else None
            elif not (nodes and reservation.gives_way(site, work, nodes)):
                return Answer("wait", "reservation")
    if not _within(site, work, nodes):
        return Answer("refuse", "tenant quota")
    return Answer("start", how, nodes=nodes, lent=fewest_lent(site, work, rooms))


def _within(site: Site, work: Work, nodes: Collection[str] | None) -> bool:
    """Whether its tenant may hold the nodes on which it would stand."""
    return not nodes or not site.over_tenant(work, on=nodes)


def never(site: Site, work: Work) -> str:
    """Why it is refused for good; empty if it is not."""
    if site.against_policy(work):
        return "policy"
    if site.over_queue(work, alone=True) or site.over_tenant(work, alone=True):
        return "limit"
    if site.machines and not site.matching(work):
        return "no match"
    return "" if site.could_ever_fit(work) else "too big"


ROOM = ("preempts false", "patience", "no room", "value", "max victims", "max victims or value")
"""Why one waits that waits for room."""


# -- a whole plan ------------------------------------------------------------------------------------------------------


def in_order(site: Site) -> list[Work]:
    waiting = [work for work in site.works.values() if work.state in ("pending", "suspended")]
    return sorted(waiting, key=lambda work: (-score(site, work), work.submitted, work.uid, work.name))


class Course:
    """A cycle under way: the site, and who has a reservation on it."""

    def __init__(self, document: Document) -> None:
        self.site = read(document)
        self.reservation: Reservation | None = None

    def answer(self, work: Work) -> Answer:
        return decide(self.site, work, self.reservation)

    def take(self, work: Work, answer: Answer, nodes: list[str]) -> None:
        """Victims have left, and who starts or preempts stands where it will."""
        site = self.site
        for name in answer.victims:
            if self.reservation is not None:
                self.reservation.leave(site, site.works[name])
            site.gone.add(name)
        if answer.action in ("start", "preempt"):
            site.placed[work.name] = nodes
            if self.reservation is not None:
                self.reservation.take(site, work, nodes)
        elif answer.action == "wait" and answer.why in ROOM and self.reservation is None:
            self.reservation = reserve(site, work)


def plan(document: Document) -> dict[str, Answer]:
    """The answers of the referee alone; members that differ go where the first room is."""
    course = Course(document)
    answers = {}
    for work in in_order(course.site):
        answers[work.name] = answer = course.answer(work)
        course.take(work, answer, answer.nodes or [])
    return answers


def differences(document: Document, made: cede.Plan) -> Iterator[str]:
    """Where a plan is unlawful, takes too many or decides otherwise."""
    course, decisions = Course(document), iter(made.decisions)
    for work in in_order(course.site):
        got = next(decisions, None)
        if got is None or got.workload != work.name:
            yield f"expected {work.name} next, got {got and got.workload}"
            return
        want, nodes = course.answer(work), list(got.nodes)
        victims = {victim.workload: victim.reason for victim in got.victims}
        if victims:
            yield from (f"{work.name}: {sentence}" for sentence in wrong(course.site, work, set(victims)))
        if (got.action, victims) != (want.action, want.victims):
            told = f"{want.action} {want.victims} ({want.why}, {want.cost}, least {want.least})"
            yield f"{work.name}: expected {told}, got {got.action} {victims} ({got.rule}: {got.why})"
            return
        if want.nodes is not None and sorted(nodes) != sorted(want.nodes):
            yield f"{work.name}: expected {want.action} on {want.nodes}, got it on {nodes}"
            return
        if lent_to(course.site, work, nodes) > want.lent:
            yield f"{work.name}: on {nodes}, though no more than {want.lent} of its members need a borrowed node"
            return
        course.take(work, want, nodes)
    yield from (f"expected no more, got {got.workload} {got.action}" for got in decisions)


def wrong(site: Site, claimant: Work, victims: Collection[str]) -> Iterator[str]:
    """What is unlawful or superfluous about these victims, whichever set is preferred."""
    found = verdicts(site, claimant)
    for name in sorted(victims):
        said = found.get(name, "holds nothing there")
        if said not in REASONS:
            yield f"{name} may not be taken: {said}"
            return
    sets = Sets(site, claimant, {name: found[name] for name in victims})
    if sets.broken(victims):
        yield f"the victims break {sets.broken(victims)}: {sets.total(victims)} of {sets.value}"
    if not sets.fits(victims):
        yield "it does not fit when they have left"
    for name in sorted(victims):
        if sets.fits(set(victims) - {name}):
            yield f"{name} is superfluous"
