"""Heartbeats of operations with one workload each where only room and shares count, in plain numbers.

What is here acts as `heartbeat` does, up to the first preemption: a cycle without words is
carried out no further. Whatever might be otherwise is left to `heartbeat`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from cede.doctrines.ytsaurus import rules
from cede.doctrines.ytsaurus.curves import EPSILON
from cede.doctrines.ytsaurus.heartbeat import spare_of
from cede.doctrines.ytsaurus.preemption_status import PREEMPTIBLE
from cede.doctrines.ytsaurus.satisfaction import INFINITE
from cede.doctrines.ytsaurus.settings import SHIPPED
from cede.doctrines.ytsaurus.start_candidates import Need, StartCandidates
from cede.doctrines.ytsaurus.starvation import STARVING
from cede.doctrines.ytsaurus.update import Update
from cede.doctrines.ytsaurus.wording import missing_words, preempts_words, shown, superfluous, victim_words
from cede.model.plan import Decision, Victim, Warning
from cede.state.columns import CHECKPOINTING, NEVER, NONE, RUNNING, Bools

MOST = 64
"""Of more candidates than this it is quicker to look at all at once."""

Starts = list[tuple[int, int]]
"""Which workload starts on which node, in order."""
Turn = tuple[float, tuple[tuple[str, int, int], ...]]
"""How satisfied an operation is, and its place in the tree."""
Allocation = tuple[int, int, list[int]]
"""An allocation on a node: row, operation, what it holds there."""


class Preemption(NamedTuple):
    """A start by preemption: what was free on the node, the victims in the order of taking, and those of them that were
    not needed."""

    row: int
    node: int
    free: list[int]
    victims: list[Allocation]
    needless: list[Allocation]


class _Candidate(NamedTuple):
    need: Need
    partition: int
    satisfied: float
    preempts: bool
    """Whether it may, and its operation starves."""


def plain_heartbeats(
    candidates: StartCandidates, rows: Collection[int], held: Bools, may_try: Bools | None, edition: str
) -> tuple[Starts, Preemption | None] | None:
    """What heartbeats would start of these, and the first start by preemption, on nodes that may try to preempt; none
    where more than this counts. On nodes `held` nothing happens."""
    waiting = None if len(rows) > MOST else _turns(candidates, rows)
    if waiting is None:
        return None
    update = candidates.update
    state, (columns, least) = update.state, spare_of(update)
    if may_try is not None and len(state.records) != len(state.work_index):
        return None
    spare = list(zip(columns, least.tolist(), strict=True))
    worth = update.room.nowhere.copy() if may_try is None else may_try.copy()
    for need in {one.need for one in waiting.values()}:
        if candidates.fitting.any(need):
            worth |= candidates.fitting.nodes(need)
    worth &= ~held
    if len(waiting) > 1:
        waiting = _in_turn(candidates, waiting)
    room, starts = state.room(), Starts()
    nodes = worth.nonzero()[0].tolist()
    if len(nodes) > 1:
        nodes.sort(key=update.room.rank.item)
    for node in nodes:
        if not waiting:
            break
        free, partition = room.free[node], room.partition[node]
        while _is_worth(free, spare):
            row = _first(waiting, free, partition)
            if row == NONE:
                break
            free = [a - b for a, b in zip(free, waiting.pop(row).need, strict=True)]
            starts.append((row, node))
        if may_try is None or not may_try[node]:
            continue
        more = candidates.preemptible_amounts.amounts.get(node)
        if more is None:
            continue  # nothing could be taken: then nothing fits that did not start just before
        most = [a + b for a, b in zip(free, more, strict=True)]
        if _first(waiting, most, partition, preempts=True) == NONE:
            continue
        there = _open(update, node)
        if there is None:
            return None
        most = free
        for _, _, amount in there:
            most = [a + b for a, b in zip(most, amount, strict=True)]
        row = _first(waiting, most, partition, preempts=True) if _is_worth(most, spare) else NONE
        if row == NONE:
            continue
        need = waiting[row].need
        short = [a - b if a > 0 else -1 for a, b in zip(need, free, strict=True)]
        if max(short) <= 0:
            return None  # it has its room, and the node less than it should keep
        taken = _as_many(there, short)
        needed = _needed(update, taken, short)
        spared = [one for one in taken if one not in needed]
        return starts, Preemption(row, node, free, taken if edition == SHIPPED else needed, spared)
    return starts, None


def _turns(candidates: StartCandidates, rows: Collection[int]) -> dict[int, _Candidate] | None:
    """What there is to know of each; none where one is of an operation that has more than this one."""
    update, state = candidates.update, candidates.update.state
    waiters, own, by_fifo = update.operation_usage.waiters, update.demand_sums.own, update.by_fifo
    waiting: dict[int, _Candidate] = {}
    for row in rows:
        number, pool, (need, preempts, odd) = candidates.known[row]
        uses = own(number)
        if odd != NONE or uses is None or any(uses[0]) or len(waiters[number]) > 1:
            return None
        shared: bool | None = True
        if len(rows) == 1:
            pass  # nothing else could come before it
        elif by_fifo:
            shared = update.fifo.has_share(number)
            if shared is None:
                return None
        elif update.short is None or number not in update.short:
            return None
        record = state.records.get(row)
        partition = int(state.work.partition[row]) if record is None else record.template.partition
        preempts = preempts and update.starves(number, pool)
        waiting[row] = _Candidate(need, partition, 0.0 if shared else INFINITE, preempts)
    return waiting


def _in_turn(candidates: StartCandidates, waiting: dict[int, _Candidate]) -> dict[int, _Candidate]:
    """The least satisfied first; equal ones as they stand in the tree. No turn changes before its workload has started,
    as that is the only one of its operation."""
    place, known = candidates.update.operations.place, candidates.known

    def turn(row: int) -> Turn:
        return waiting[row].satisfied, place(known[row][0])

    return {row: waiting[row] for row in sorted(waiting, key=turn)}


def _first(waiting: dict[int, _Candidate], free: list[int], partition: int, *, preempts: bool = False) -> int:
    """Whose turn it is of those that fit such a node; `preempts`: only of those that may."""
    for row, one in waiting.items():
        if one.partition == partition and (one.preempts or not preempts) and _fits(one.need, free):
            return row
    return NONE


def _is_worth(free: list[int], spare: Iterable[tuple[int, int]]) -> bool:
    """Whether a node with so much is worth a look."""
    for column, least in spare:  # noqa: SIM110 - all() takes three times as long
        if free[column] < least:
            return False
    return True


def _fits(need: Need, free: list[int]) -> bool:
    for amount, has in zip(need, free, strict=True):  # noqa: SIM110 - all() takes three times as long
        if amount > has and amount > 0:
            return False
    return True


# -- victims ----------------------------------------------------------------------------------------------------------


def _open(update: Update, node: int) -> list[Allocation] | None:
    """What the normal stage may take there, in the order of taking; none where usage thresholds count too."""
    state, operation_usage, settings = update.state, update.operation_usage, update.operations.settings
    from_starving, raised = update.pools.tree.from_starving, update.op_clocks.raised
    victims: list[Allocation] = []
    for row, members in state.room().standing[node].items():
        record = state.records[row]
        if record.code not in (RUNNING, CHECKPOINTING) or not record.preemptible:
            continue
        number = operation_usage.operation.item(row)
        if settings[number].threshold:
            return None
        pool = update.pools.settings[update.operations.pool[number]]
        if not pool.normal_allowed or (number in raised and not from_starving):
            continue
        stands = update.fifo.stands(number)
        if stands < 0 or (stands == 0 and _is_protected(update, number, _before(update, row, number))):
            continue
        amount = [0] * len(state.units)
        for column, count in record.template.need:
            amount[column] = count * members
        victims.append((row, number, amount))
    if len(victims) > 1:
        victims.sort(key=lambda one: _age(update, one[0]), reverse=True)
    return victims


def _before(update: Update, row: int, number: int) -> list[int]:
    """What its operation uses before this allocation."""
    operation_usage = update.operation_usage
    if len(operation_usage.holders(number)) < 2:
        return [0] * len(update.pools.columns)
    operation_usage.lists_of([number])
    before: list[int] = operation_usage.before[row].tolist()
    return before


def _is_protected(update: Update, number: int, before: list[int]) -> bool:
    """Whether the share of an operation that has a part of its demand protects an allocation before which it uses so
    much: what `groups` asks, of the resources that are asked for at all; of the others share and demand are nothing."""
    columns, fair, demand, totals = update.fifo.in_part(number)
    if all([abs(a - b) <= EPSILON for a, b in zip(fair, demand, strict=True)]):  # noqa: C419
        return any(one > EPSILON for one in demand)
    part, every = update.pools.tree.satisfaction, True
    for column, share, asked, total in zip(columns, fair, demand, totals, strict=True):
        used = before[column] / total if total else 0.0
        # where all is covered any resource would do; here some is not, so that those that are do not count
        every = every and (share >= asked - EPSILON or part * share > used + EPSILON)
    return every


def _age(update: Update, row: int) -> tuple[int, str, str]:
    """Since when it runs, or saved its work; then uid, and name."""
    state = update.state
    record = state.records[row]
    started, saved = record.started, record.checkpoint_last if record.saved else record.template.checkpoint_last
    since = started if NEVER in (started, saved) else max(started, saved)
    return since, state.uids[row], state.work_names[row]


def _as_many(there: list[Allocation], short: list[int]) -> list[Allocation]:
    """As many as it takes, in this order."""
    taken: list[Allocation] = []
    left = short
    for one in there:
        if max(left) <= 0:
            break
        taken.append(one)
        left = [a - b for a, b in zip(left, one[2], strict=True)]
    return taken


def _needed(update: Update, taken: list[Allocation], short: list[int]) -> list[Allocation]:
    """Those of them that are needed: the oldest is spared first."""
    if len(taken) < 2:
        return taken
    left = short
    for _, _, amount in taken:
        left = [a - b for a, b in zip(left, amount, strict=True)]
    needed = list(taken)
    for one in sorted(taken, key=lambda other: _age(update, other[0])):
        without = [a + b for a, b in zip(left, one[2], strict=True)]
        if max(without) <= 0:
            left = without
            needed.remove(one)
    return needed


# -- what is said of it ------------------------------------------------------------------------------------------------


def start(candidates: StartCandidates, row: int, node: int) -> Decision:
    """The decision that this one starts there."""
    state = candidates.update.state
    name = state.node_names[node]
    record = state.records.get(row)
    nodes = (name,) * (int(state.work.members[row]) if record is None else record.template.members)
    return Decision(state.work_names[row], "start", rules.STARTS.id, rules.STARTS.because(nodes=name), nodes=nodes)


def preempt(candidates: StartCandidates, going: Preemption, edition: str) -> Decision:
    """The decision that others go for this one."""
    update = candidates.update
    state, number = update.state, candidates.known[going.row][0]
    need, members = candidates.known[going.row][2][0], state.records[going.row].template.members
    fair = update.fair_of(number).tolist()
    nothing = [0.0] * len(fair)
    names = {there[0]: state.work_names[there[0]] for there in (*going.victims, *going.needless)}
    who = ", ".join(f"{names[row]} ({_victim(update, row, own)})" for row, own, _ in going.victims)
    lacking = missing_words(update, going.node, going.free, need)
    shares = shown(update, nothing, fair), shown(update, fair, nothing)
    why = preempts_words(update, number, lacking, *shares, who, level=STARVING)
    warnings: tuple[Warning, ...] = ()
    if going.needless and edition == SHIPPED:
        spared = [names[row] for row, _, _ in going.needless]
        others = [names[there[0]] for there in going.victims if there not in going.needless]
        warnings = (superfluous(spared, others),)
    return Decision(
        state.work_names[going.row],
        "preempt",
        rules.STARVING.id,
        why,
        tuple([Victim(names[there[0]], "starving", rule=rules.STARVING.id) for there in going.victims]),
        (state.node_names[going.node],) * members,
        warnings=warnings,
    )


def _victim(update: Update, row: int, number: int) -> str:
    """How the operation of a victim stands."""
    totals = update.pools.total[update.pools.tree_of[update.operations.pool[number]]].tolist()
    before = _before(update, row, number)
    counted = [a / b if b > 0 else 0.0 for a, b in zip(before, totals, strict=True)]
    return victim_words(update, number, counted, update.fair_of(number).tolist(), PREEMPTIBLE)
