"""Who waits in each group in the order of release 26.8, kept from cycle to cycle by following the journal.

A pass ends at the first session that finds no room, so that hardly more than the head of a line is looked at. If
nothing acted, the head goes on waiting until room grows, somebody moves, a time comes, or one comes ahead of it.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Iterator
from functools import partial
from math import lcm

import numpy as np

from cede.doctrines.backendai.kinds import Kinds
from cede.doctrines.backendai.settings import Settings
from cede.doctrines.parts.doctrine import Cycle
from cede.doctrines.parts.fit import named_columns
from cede.state.columns import GONE, READY, RESERVED, SUSPENDED, SYSTEM
from cede.state.state import State

LINES = "backendai.lines"
EVERYBODY = -2
"""Whose sessions stand in one order where shares do not count; no code of a user."""
Place = tuple[int, str, str, int]
"""Inside a band and beside those of one share: arrival, uid, name; then the row."""
Turn = tuple[int, int, int, str, str]
"""Band, share, arrival, uid, name."""


class Line:
    """One group. `bands` has by priority, highest first, the places of each owner's sessions in their order."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.bands: dict[int, dict[int, list[Place]]] = {}
        self.fresh: list[int] = []
        """Those that came since the last pass."""
        self.asleep = False
        """Nothing acted in the last pass, and nothing else happened since but that some came."""
        self.head: Turn | None = None
        """Where the last pass ended; none: everybody was looked at."""
        self.wakes_at: int | None = None
        self.grown = -1

    def sleeps(self, cycle: Cycle, turns: list[Turn]) -> bool:
        """Whether a pass would end as the last one did: nobody that came is ahead of its head, and no time has come."""
        if not self.asleep or self.grown != cycle.state.journal.grown:
            return False
        if self.wakes_at is not None and self.wakes_at <= cycle.state.now:
            return False
        return not turns or (self.head is not None and min(turns) > self.head)


class Lines:
    """The lines of all groups; what each user holds, where a group's sequence asks for that."""

    def __init__(self, state: State, settings: dict[int, Settings]) -> None:
        self.by_group = {group: Line(one) for group, one in settings.items()}
        self.kinds = Kinds(state)
        self.reshaped = state.journal.reshaped
        self._columns = named_columns(state)
        self._places: dict[int, tuple[int, int, int, Place]] = {}
        self._holds: dict[int, tuple[int, list[int]]] = {}
        self._held: dict[int, list[int]] = {}
        self._shares: dict[tuple[int, int], int] = {}
        self._scales = {group: self._scale(state, group) for group in settings}
        state.journal.follows = True
        state.journal.rows.clear()
        for row in sorted(state.work_index.values()):
            self._look(state, row)

    def follow(self, state: State) -> None:
        """Take in what moved since."""
        state.journal.take(partial(self._look, state), self._forget)

    def wake(self) -> None:
        """Whoever waits must be looked at again."""
        for line in self.by_group.values():
            line.asleep = False

    # -- order -------------------------------------------------------------------------------------------------

    def in_turn(self, group: int) -> Iterator[tuple[Turn, int]]:
        """Everybody of the group in sequence: priority bands, then dominant shares where they count, then arrival."""
        bands = self.by_group[group].bands
        for band in sorted(bands):
            waiting = [(self._share(group, owner), *places[0], places, 0) for owner, places in bands[band].items()]
            heapq.heapify(waiting)
            while waiting:
                share, arrival, uid, name, row, places, at = waiting[0]
                if at + 1 < len(places):
                    heapq.heapreplace(waiting, (share, *places[at + 1], places, at + 1))
                else:
                    heapq.heappop(waiting)
                yield (band, share, arrival, uid, name), row

    def turn_of(self, row: int) -> Turn:
        """The turn of one that waits."""
        group, band, owner, place = self._places[row]
        return (band, self._share(group, owner), *place[:3])

    def _share(self, group: int, owner: int) -> int:
        """The owner's dominant share of the group, in a unit in which every slot's share is a whole number."""
        if owner == EVERYBODY:
            return 0
        share = self._shares.get((group, owner))
        if share is None:
            held = self._held.get(owner, ())
            share = max((count * scale for count, scale in zip(held, self._scales[group], strict=False)), default=0)
            self._shares[group, owner] = share
        return share

    def _scale(self, state: State, group: int) -> list[int]:
        nodes = state.nodes
        here = (nodes.partition[: nodes.size] == group) & (nodes.state[: nodes.size] == READY)
        capacities = [int(nodes.capacity[column, : nodes.size][here].sum()) for column in self._columns]
        whole = lcm(*(capacity for capacity in capacities if capacity))
        return [whole // capacity if capacity else 0 for capacity in capacities]

    # -- who is where ------------------------------------------------------------------------------------------

    def _forget(self, row: int) -> None:
        self._leave(row)
        self._let_go(row)

    def _look(self, state: State, row: int) -> None:
        waited = row in self._places
        self._forget(row)
        code = int(state.work.state[row])
        if code == GONE:
            return
        if code >= RESERVED:
            self._hold(state, row)
        elif code <= SUSPENDED:
            self._join(state, row)
        if waited or code > SUSPENDED:
            self.wake()

    def _join(self, state: State, row: int) -> None:
        work = state.work
        line = self.by_group[int(work.partition[row])]
        arrival = int(work.submitted[row])
        place = (
            -arrival if line.settings.scheduler == "lifo" else arrival,
            state.uids[row],
            state.work_names[row],
            row,
        )
        owner = int(work.user[row]) if line.settings.scheduler == "drf" else EVERYBODY
        band = -int(work.priority[row])
        insort(line.bands.setdefault(band, {}).setdefault(owner, []), place)
        self._places[row] = int(work.partition[row]), band, owner, place
        line.fresh.append(row)

    def _leave(self, row: int) -> None:
        self.kinds.forget(row)
        known = self._places.pop(row, None)
        if known is None:
            return
        group, band, owner, place = known
        line = self.by_group[group]
        owners = line.bands[band]
        places = owners[owner]
        del places[bisect_left(places, place)]
        if not places:
            del owners[owner]
            if not owners:
                del line.bands[band]
        if row in line.fresh:
            line.fresh.remove(row)
        line.asleep = False

    def _hold(self, state: State, row: int) -> None:
        """What it holds counts for its user, whatever the group; system work counts for nobody."""
        work = state.work
        if work.kind[row] == SYSTEM:
            return
        if row in state.parts:
            every = np.sum(state.members_of(row), axis=0)
        else:
            every = work.need[:, row] * int(work.members[row])
        user, amounts = int(work.user[row]), [int(every[column]) for column in self._columns]
        self._holds[row] = user, amounts
        held = self._held.get(user)
        self._held[user] = amounts if held is None else [a + b for a, b in zip(held, amounts, strict=True)]
        self._forget_shares(user)

    def _let_go(self, row: int) -> None:
        known = self._holds.pop(row, None)
        if known is not None:
            user, amounts = known
            self._held[user] = [a - b for a, b in zip(self._held[user], amounts, strict=True)]
            self._forget_shares(user)
            self.wake()

    def _forget_shares(self, user: int) -> None:
        for group in self.by_group:
            self._shares.pop((group, user), None)
