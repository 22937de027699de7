"""The order in which classical preemption comes to its candidates, worked out as far as it gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cede.doctrines.kueue.search import Search
from cede.doctrines.kueue.standing import in_order
from cede.doctrines.parts.orders import Rows


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some candidates in their order, all of one list; `usable` says who may be taken while the claimant borrows."""

    positions: Rows
    rows: list[int]
    queues: list[int]
    usable: list[bool] | None
    own: bool


class Walk:
    """Those the claimant has the advantage over, then other queues', then its own; and before all what is leaving.

    Further attempts walk the same way again, so that a stretch is sorted once.
    """

    def __init__(self, search: Search, hierarchy: Rows, priority: Rows, own: Rows) -> None:
        self._known: list[Stretch] = []
        self._more = _stretches(search, (hierarchy, priority, own))

    def __iter__(self) -> Iterator[Stretch]:
        at = 0
        while True:
            if at == len(self._known):
                found = next(self._more, None)
                if found is None:
                    return
                self._known.append(found)
            yield self._known[at]
            at += 1


def _stretches(search: Search, lists: tuple[Rows, Rows, Rows]) -> Iterator[Stretch]:
    snapshot = search.snapshot
    for leaving in (True, False):
        if leaving and not snapshot.leaving_rows:
            continue
        for number, positions in enumerate(lists):
            if not len(positions):
                continue
            for part in in_order(snapshot, positions[snapshot.leaving[positions] == leaving]):
                usable = _usable(search, part) if number == 1 else None
                rows, queues = snapshot.rows[part].tolist(), snapshot.queue[part].tolist()
                yield Stretch(part, rows, queues, usable, number == 2)


def _usable(search: Search, positions: Rows) -> list[bool]:
    """Who of those without advantage may be taken even if the claimant's queue ends above its quota."""
    settings = search.claimant.settings
    if not settings.borrow:
        return [False] * len(positions)
    snapshot = search.snapshot
    priorities = snapshot.state.work.priority[snapshot.rows[positions]]
    usable = priorities < search.claimant.priority
    if settings.threshold is not None:
        usable &= priorities <= settings.threshold
    found: list[bool] = usable.tolist()
    return found
