"""Edition `26.8` as its page describes it, agent by agent and victim by victim, in fractions.

A member that wants a node to itself is one more slot, `WHOLE`, of which every node has one and a whole one is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import cede
from cede.model.times import parse_duration
from tests.referees.reading import HOLDS, Amounts, Board, Document, Machine, Work, read

WHOLE = ""
ALL, SOME = 10**6, 1
DEFAULTS = {
    "enabled": False,
    "preemption_order": "oldest",
    "preemption_mode": "terminate",
    "preemption_min_runtime": 0,
    "victim_scope": "user",
    "scheduler": "drf",
    "agent_selection_strategy": "dispersed",
}


@dataclass
class Try:
    """An attempt for one session: agents so far, and the sessions that are to leave for it."""

    agents: list[str] = field(default_factory=list)
    victims: list[str] = field(default_factory=list)


@dataclass
class Pass:
    """One schedule pass over one group. Nobody leaves while it lasts; who is to leave is asked for once only."""

    board: Board
    picks: int = 0
    starts: dict[str, Try] = field(default_factory=dict)
    reservations: dict[str, Try] = field(default_factory=dict)

    @property
    def leaving(self) -> set[str]:
        return {name for found in self.reservations.values() for name in found.victims}


def differences(document: Document, plan: cede.Plan) -> Iterator[str]:
    """Where the plan decides otherwise than the text."""
    board = read(document)
    waiting = [work for work in board.works.values() if work.state in ("pending", "suspended")]
    decided = iter(plan.decisions)
    for partition in sorted({work.partition for work in waiting}):
        for work, (action, found) in whole_pass(board, partition):
            made = next(decided, None)
            if made is None or made.workload != work.name:
                yield f"expected {work.name} next, got {made and made.workload}"
                return
            fate = "requeued" if settings_of(board, work)["preemption_mode"] == "reschedule" else "ended"
            got = {victim.workload: victim.fate for victim in made.victims}
            nodes, agents = list(made.nodes), found.agents
            if "pod_sets" not in work.entry:  # its members are alike: in which order they are named says nothing
                nodes, agents = sorted(nodes), sorted(agents)
            if made.action != action or got != dict.fromkeys(found.victims, fate) or nodes != agents:
                what = f"expected {action} {found}, got {made.action} {got} on {list(made.nodes)}"
                yield f"{work.name}: {what} ({made.why})"
                return


def whole_pass(board: Board, partition: str) -> list[tuple[Work, tuple[str, Try]]]:
    """Everybody in sequence, and in the end the reservations of all: booked together or not at all."""
    under_way, blocked = Pass(board), False
    answers: list[tuple[Work, tuple[str, Try]]] = []
    for work in sequence(board, partition):
        action, found, blocks = judge(under_way, work, blocked=blocked)
        blocked |= blocks
        if action in ("start", "preempt"):
            (under_way.reservations if found.victims else under_way.starts)[work.name] = found
            board.placed[work.name] = found.agents
        answers.append((work, (action, found)))
    if all(bookable(under_way, machine) for machine in board.machines.values()):
        return answers
    for name in under_way.reservations:
        del board.placed[name]
    return [(work, ("wait", Try()) if work.name in under_way.reservations else made) for work, made in answers]


def bookable(under_way: Pass, machine: Machine) -> bool:
    """Reserved, with what starts and what never started, and prereserved: no more than the agent has."""
    board = under_way.board
    unstarted = [w for w in board.works.values() if w.state in HOLDS and (w.state == "reserved" or w.started is None)]
    reserved = [on_agent(work, machine, work.nodes) for work in unstarted]
    reserved += [on_agent(board.works[name], machine, found.agents) for name, found in under_way.starts.items()]
    asked = [on_agent(board.works[name], machine, found.agents) for name, found in under_way.reservations.items()]
    capacity = machine.capacity | {WHOLE: ALL}
    return all(
        sum(amounts.get(slot, 0) for amounts in reserved + asked) <= total
        for slot, total in capacity.items()
        if any(amounts.get(slot, 0) for amounts in asked)
    )


def on_agent(work: Work, machine: Machine, agents: list[str]) -> Amounts:
    """What a session takes of one agent."""
    taken: Amounts = {WHOLE: 0}
    for agent, need in zip(agents, work.needs, strict=False):
        if agent == machine.name:
            taken = {slot: taken.get(slot, 0) + need.get(slot, 0) for slot in taken | need}
            taken[WHOLE] += ALL if work.exclusive else SOME
    return taken


def settings_of(board: Board, work: Work) -> Document:
    return DEFAULTS | board.settings(work.asks("queue"))


def scheduler_of(board: Board, partition: str) -> str:
    """That of the group: of the first of its queues, by name, that has any settings."""
    names = sorted(name for name, queue in board.queues.items() if queue.get("partition", "default") == partition)
    found = next((board.settings(name) for name in names if board.settings(name)), {})
    return str((DEFAULTS | found)["scheduler"])


def sequence(board: Board, partition: str) -> list[Work]:
    """Bands of priority; inside a band by arrival, the reverse of it, or the owner's dominant share."""
    scheduler = scheduler_of(board, partition)
    waiting = [w for w in board.works.values() if w.state in ("pending", "suspended") and w.partition == partition]

    def key(work: Work) -> tuple[object, ...]:
        if scheduler == "lifo":
            return -work.priority, -work.submitted, work.last_key
        if scheduler == "drf":
            return -work.priority, dominant_share(board, partition, work.asks("user")), work.submitted, work.last_key
        return -work.priority, work.submitted, work.last_key

    return sorted(waiting, key=key)


def dominant_share(board: Board, partition: str, user: str | None) -> Fraction:
    """Of the agents that take work; with sessions of every group, on their way out too, but none of system work."""
    machines = [machine for machine in board.machines.values() if machine.partition == partition and machine.ready]
    theirs = [
        need
        for work in board.works.values()
        if work.asks("user") == user and work.state in HOLDS and work.kind != "system"
        for need in work.needs
    ]
    shares = [Fraction(0)]
    for slot in {slot for machine in machines for slot in machine.capacity}:
        total = sum(machine.capacity.get(slot, 0) for machine in machines)
        if total:
            shares.append(Fraction(sum(need.get(slot, 0) for need in theirs), total))
    return max(shares)


def judge(under_way: Pass, work: Work, *, blocked: bool) -> tuple[str, Try, bool]:
    """Action, agents and victims, and whether those behind are skipped."""
    board = under_way.board
    if board.refused_by_policy(work) or board.over_limits(work, alone=True):
        return "refuse", Try(), False
    if board.machines and not board.matching(work):
        return "refuse", Try(), False
    if blocked or board.over_limits(work, apart=True):
        return "wait", Try(), False
    if not board.machines:
        return "start", Try(), False
    found = Try()
    if all(choose(under_way, work, member, found) for member in range(len(work.needs))):
        return ("preempt" if found.victims else "start"), found, False
    if not board.fits_empty(work, bare=True):
        return "refuse", Try(), True
    return "wait", Try(), any(machine.ready for machine in board.matching(work))


def choose(under_way: Pass, work: Work, member: int, found: Try) -> bool:
    """An agent for one member, with victims if none has room."""
    board, settings = under_way.board, settings_of(under_way.board, work)
    strategy = settings["agent_selection_strategy"]
    need = work.needs[member] | {WHOLE: ALL if work.exclusive else SOME}
    pin = work.pins[member]
    usable = {machine.name: machine for machine in board.usable(work) if pin in (None, machine.flavor)}
    remaining = {name: left(board, work, machine, found) for name, machine in usable.items()}
    with_room = [name for name in usable if covers(remaining[name], need)]
    if with_room:
        found.agents.append(pick(under_way, strategy, with_room, need, remaining))
        return True
    taken = under_way.leaving | set(found.victims)
    eligible = [other for other in candidates(board, work, settings) if other.name not in taken]
    credited = {name: dict(amounts) for name, amounts in remaining.items()}
    for victim in eligible:
        for name, given in gives(victim).items():
            if name in credited:
                credited[name] = {s: credited[name].get(s, 0) + given.get(s, 0) for s in credited[name] | given}
    feasible = [name for name in usable if covers(credited[name], need)]
    if not feasible:
        return False
    sets = {name: collect(settings["preemption_order"], eligible, name, remaining[name], need) for name in feasible}
    keys = {name: agent_key(settings["preemption_order"], name, sets[name]) for name in feasible}
    best = [name for name in feasible if keys[name] == min(keys.values())]
    chosen = pick(under_way, strategy, best, need, credited)
    found.agents.append(chosen)
    found.victims += [victim.name for victim in sets[chosen]]
    return True


def left(board: Board, work: Work, machine: Machine, found: Try) -> Amounts:
    """What remains of an agent beside all that holds room, with this session's own victims credited alone."""
    free = {slot: total - machine.occupied.get(slot, 0) for slot, total in (machine.capacity | {WHOLE: ALL}).items()}
    taken = [on_agent(other, machine, board.standing(other)) for other in board.holders(found.victims)]
    for amounts in (*taken, on_agent(work, machine, found.agents)):
        free = {slot: free.get(slot, 0) - amounts.get(slot, 0) for slot in free | amounts}
    return free


def covers(room: Amounts, need: Amounts) -> bool:
    return all(room.get(slot, 0) >= amount for slot, amount in need.items() if amount)


def candidates(board: Board, work: Work, settings: Document) -> list[Work]:
    """Sessions of the scope that may go for this one."""
    if not settings["enabled"] or not work.asks("preempts", True):
        return []
    beside = [
        other.job_priority
        for other in board.works.values()
        if other.state in ("pending", "suspended")
        and other.partition == work.partition
        and other.kind != "system"
        and (settings["victim_scope"] == "resource-group" or same(settings["victim_scope"], other, work))
    ]
    if not beside:  # it is system work, and nobody else of its scope waits
        return []
    scope, grace = settings["victim_scope"], parse_duration(settings["preemption_min_runtime"])
    return [
        other
        for other in board.works.values()
        if other.state == "running"
        and other.partition == work.partition
        and other.kind != "system"
        and other.asks("preemptible", True)
        and (scope == "resource-group" or same(scope, other, work))
        and other.job_priority < min(work.job_priority, max(beside))
        and (grace == 0 or (other.started is not None and board.now - other.started >= grace))
    ]


def same(scope: str, other: Work, work: Work) -> bool:
    return bool(other.asks(scope) == work.asks(scope))


def gives(victim: Work) -> dict[str, Amounts]:
    """What a session frees, agent by agent."""
    freed: dict[str, Amounts] = {}
    for name, need in zip(victim.nodes, victim.needs, strict=False):
        held = freed.setdefault(name, {WHOLE: 0})
        for slot, amount in need.items():
            held[slot] = held.get(slot, 0) + amount
        held[WHOLE] += ALL if victim.exclusive else SOME
    return freed


def total(amounts: Amounts) -> int:
    return sum(amount for slot, amount in amounts.items() if slot != WHOLE)


def collect(order: str, eligible: list[Work], agent: str, room: Amounts, need: Amounts) -> list[Work]:
    """Walk the sessions of this agent in order; skip those giving nothing to the open shortage; stop when covered."""
    short = {slot: max(0, amount - room.get(slot, 0)) for slot, amount in need.items()}

    def key(victim: Work) -> tuple[object, ...]:
        given = gives(victim)[agent]
        oldest = (0, 0) if victim.started is None else (1, victim.started)
        newest = (0, 0) if victim.started is None else (1, -victim.started)
        useful = total({slot: min(given.get(slot, 0), amount) for slot, amount in short.items()})
        own = {
            "oldest": oldest,
            "newest": newest,
            "fewest-sessions": (-useful, *oldest),
            "smallest-resources": (total(given), *oldest),
        }[order]
        return victim.job_priority, own, victim.last_key

    taken: list[Work] = []
    open_ = dict(short)
    for victim in sorted((w for w in eligible if agent in w.nodes), key=key):
        given = gives(victim)[agent]
        if any(open_[slot] > 0 and given.get(slot, 0) > 0 for slot in open_):
            taken.append(victim)
            open_ = {slot: max(0, amount - given.get(slot, 0)) for slot, amount in open_.items()}
    return taken


def agent_key(order: str, agent: str, victims: list[Work]) -> int:
    if order == "fewest-sessions":
        return len(victims)
    return sum(total(gives(victim)[agent]) for victim in victims) if order == "smallest-resources" else 0


def pick(under_way: Pass, strategy: str, agents: list[str], need: Amounts, remaining: dict[str, Amounts]) -> str:
    """The strategy's choice; ties by name."""
    agents = sorted(agents)
    under_way.picks += 1
    if strategy == "roundrobin":
        return agents[(under_way.picks - 1) % len(agents)]
    asked = sorted(slot for slot, amount in need.items() if amount and slot != WHOLE)
    slots = [slot for slot in ("cpu", "mem") if slot in asked] + [s for s in asked if s not in ("cpu", "mem")]
    sign = 1 if strategy == "concentrated" else -1
    return min(agents, key=lambda name: [sign * remaining[name].get(slot, 0) for slot in slots])
