"""A Kueue plan word for word: passes over the heads of all queues, each nominated, put in order and processed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from bench.naive.quota import Amounts, FlavorResource, Node, Workload
from tests.referees.kueue_flavors import FIT, NO_FIT, PREEMPT, nominate
from tests.referees.kueue_order import Entry, in_order
from tests.referees.kueue_reading import Ask, Board, Document, read


class Answer(NamedTuple):
    """What becomes of one workload; flavors and counts by pod set, the only one being "" if it has none."""

    action: str
    victims: dict[str, str]
    flavors: dict[str, dict[str, str]]
    counts: dict[str, int]


WAIT = Answer("wait", {}, {}, {})
REFUSE = Answer("refuse", {}, {}, {})


def plan(document: Document) -> dict[str, Answer]:
    """The answer for every pending workload; those behind one that blocks their queue wait."""
    return Cycle(read(document)).run()


class Cycle:
    """One plan: `earlier` are the victims chosen so far in a pass, which hold their quota to its end."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.tree = board.tree
        self.earlier: dict[str, str] = {}
        self.answers: dict[str, Answer] = {}
        self.lines: dict[str, list[Ask]] = {}
        self.added: list[tuple[Node, Amounts, bool]] = []
        self.keepers: list[Entry] = []
        self.left: list[Workload] = []
        for ask in sorted(board.asks, key=lambda ask: ask.key):
            if board.is_cohort(ask.queue):
                self.answers[ask.name] = REFUSE
            else:
                self.lines.setdefault(ask.queue, []).append(ask)

    def run(self) -> dict[str, Answer]:
        while any(self.lines.values()):
            heads = [line.pop(0) for line in self.lines.values() if line]
            entries = [Entry(ask, *nominate(self.board, ask)) for ask in heads]
            self.mark_who_fits_now(entries)
            for entry in in_order(self.board, entries + self.keepers):
                if entry in self.keepers:
                    self.keep(entry)
                    continue
                answer, hands_over = self.process(entry)
                self.answers[entry.ask.name] = answer
                if not hands_over:
                    self.answers |= {ask.name: WAIT for ask in self.lines.pop(entry.ask.queue)}
            self.end_pass()
        return self.answers

    def process(self, entry: Entry) -> tuple[Answer, bool]:
        """The answer for one head, and whether the next of its queue gets its turn."""
        node, again = self.tree.nodes[entry.ask.queue], False
        if set(entry.victims or ()) & set(self.earlier):
            gone = self.take_out(self.earlier)
            entry = Entry(entry.ask, *nominate(self.board, entry.ask, entry.assignment.flavors))
            self.put_back(gone)
            again = True
        assignment, victims = entry.assignment, entry.victims or {}
        fits = self.fits(node, entry)
        if assignment.mode == NO_FIT:
            refused = assignment.never and not again
            return REFUSE if refused else WAIT, not self.board.strict(node.name)
        if assignment.mode == PREEMPT and not victims:
            self.keep(entry)
            strict = self.board.strict(node.name)
            self.keepers += [entry] if strict else []
            return WAIT, not strict
        if assignment.mode == FIT and again:
            self.use(node, assignment.usage)
            return WAIT, False
        if set(victims) & set(self.earlier) or not fits:
            return WAIT, False
        if assignment.mode == FIT and not entry.now:
            self.use(node, assignment.usage)
            return WAIT, False
        self.earlier |= victims
        self.use(node, assignment.usage)
        if not victims:
            return answer("start", entry), True
        return answer("wait" if set(victims) <= self.board.leaving else "preempt", entry), False

    def mark_who_fits_now(self, entries: list[Entry]) -> None:
        """Whether those that fit do so though the victims of earlier passes may be there yet."""
        self.put_back(self.left)
        for entry in entries if self.left else ():
            entry.now = self.tree.nodes[entry.ask.queue].fits(entry.assignment.usage)
        for workload in self.left:
            self.tree.release(workload)

    def fits(self, node: Node, entry: Entry) -> bool:
        """Whether the request fits once all victims, the earlier and its own, have left."""
        gone = self.take_out({**self.earlier, **(entry.victims or {})})
        fits = node.fits(entry.assignment.usage)
        self.put_back(gone)
        return fits

    def take_out(self, names: Iterable[str]) -> list[Workload]:
        taken = [self.board.workload(name) for name in names]
        for workload in taken:
            self.tree.release(workload)
        return taken

    def put_back(self, taken: Iterable[Workload]) -> None:
        for workload in taken:
            self.tree.hold(workload)

    def keep(self, entry: Entry) -> None:
        """Hold room back for a head without victims; a strict one does so at its turn in every later pass too."""
        node, assignment = self.tree.nodes[entry.ask.queue], entry.assignment
        if node.policy.reclaim != "Any":
            self.use(node, held_back(node, assignment.usage, assignment.level), lasting=False)

    def use(self, node: Node, amounts: Amounts, *, lasting: bool = True) -> None:
        self.tree.use(node, amounts)
        self.added.append((node, amounts, lasting))

    def end_pass(self) -> None:
        """Count all usage anew, without what was held back for this pass only; the victims of this pass have left."""
        self.left += self.take_out(self.earlier)
        self.earlier = {}
        self.tree.recount()
        self.added = [one for one in self.added if one[2]]
        for node, amounts, _ in self.added:
            self.tree.use(node, amounts)


def answer(action: str, entry: Entry) -> Answer:
    found = entry.assignment
    counts = {part.name: count for part, count in zip(entry.ask.parts, found.counts, strict=True)}
    return Answer(action, dict(entry.victims or {}), found.flavors, counts)


def held_back(node: Node, usage: Mapping[FlavorResource, int], level: int) -> Amounts:
    """What is kept for a head that needs preemption and has no victims."""
    amounts: Amounts = {}
    for fr, amount in usage.items():
        limit = node.borrowing_limit.get(fr)
        if level == 0:
            amounts[fr] = max(0, min(amount, node.quota(fr) - node.usage(fr)))
        elif limit is None:
            amounts[fr] = amount
        else:
            amounts[fr] = min(amount, node.quota(fr) + limit - node.usage(fr))
    return amounts


def differences(document: Document, made: Document) -> Iterator[str]:
    """Where a plan, as a dictionary, decides otherwise; a workload it does not mention is taken to wait."""
    decided = {decision["workload"]: decision for decision in made["decisions"]}
    for name, wanted in plan(document).items():
        decision = decided.pop(name, {"action": "wait"})
        victims = {victim["workload"]: victim["reason"] for victim in decision.get("victims", ())}
        if decision["action"] != wanted.action:
            yield f"{name}: expected {wanted.action} {wanted.victims}, got {decision['action']} {victims}"
        elif victims != wanted.victims and (victims or wanted.action != "wait"):
            yield f"{name}: expected victims {wanted.victims}, got {victims}"
        elif wanted.action in ("start", "preempt"):
            flavors = _by_part(decision.get("flavors", {}), wanted.flavors)
            if flavors != wanted.flavors:
                yield f"{name}: expected flavors {wanted.flavors}, got {flavors}"
            counts = _full(document, name) | decision.get("counts", {})
            if counts != wanted.counts:
                yield f"{name}: expected counts {wanted.counts}, got {counts}"
    yield from (f"{name}: expected no decision, got {decision['action']}" for name, decision in decided.items())


def _by_part(given: Document, wanted: dict[str, dict[str, str]]) -> Document:
    """Flavors by pod set, also where one map serves them all."""
    if any(isinstance(value, dict) for value in given.values()):
        return {part: given.get(part, {}) for part in wanted | given}
    return {part: {resource: given.get(resource) for resource in flavors} for part, flavors in wanted.items()}


def _full(document: Document, name: str) -> dict[str, int]:
    [entry] = [entry for entry in document["workloads"] if entry["name"] == name]
    return {part["name"]: part["count"] for part in entry.get("pod_sets", ())} or {"": entry.get("members", 1)}
