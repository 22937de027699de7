"""The share rules once more, on the victims that are left after sparing.

As shipped, victims of the claimant's own queue can lower its share, make a victim of another queue lawful, and then
be spared; what is left would never have been lawful alone, and the two may evict each other for ever. With
`recheck_final_set` a set of victims counts only if it is lawful as it is, taken in its order.
"""

from __future__ import annotations

from collections.abc import Iterator

from cede.doctrines.kueue.search import FAIR, Found, Search
from cede.doctrines.kueue.settings import FINAL
from cede.doctrines.kueue.sides import Sides


def lawful_set(search: Search, taken: Found) -> Found:
    """The victims as spared in another order, the first that is lawful; nobody if none is."""
    for order in _orders(taken):
        found = _spared_in(search, taken, order)
        if lawful(search, found):
            return found
    return []


def lawful(search: Search, victims: Found) -> bool:
    """Whether each victim passes the rule that admitted it, with only the victims of this set taken before it."""
    return not breach_of(search, victims)


def breach_of(search: Search, victims: Found) -> str:
    """The first victim that does not pass, in words; nothing if all do."""
    book = search.snapshot.book.copy()
    book.add_all(search.queue, search.asked)
    shares, sides = search.snapshot.shares(book), Sides(search.snapshot.quotas, search.queue)
    for victim in victims:
        code = search.snapshot.code(victim.row)
        if victim.reason != FAIR:
            book.remove_all(victim.queue, victim.amounts, code)
            continue
        mine, theirs = sides.of(victim.queue)
        new, before = shares.share(mine), shares.share(theirs)
        book.remove_all(victim.queue, victim.amounts, code)
        after = shares.share(theirs)
        if not (new <= after if victim.strategy == FINAL else new < before):
            names = search.snapshot.quotas.names
            return (
                f"{names[mine]} has share {shares.shown(mine, new)} against {shares.shown(theirs, before)} of "
                f"{names[theirs]}, {shares.shown(theirs, after)} without {search.snapshot.state.work_names[victim.row]}"
            )
    return ""


def _orders(taken: Found) -> Iterator[Found]:
    """Ways to put victims back: the latest first, the earliest first, other queues' first, the own ones first."""
    yield taken[::-1]
    yield taken
    yield sorted(taken, key=lambda victim: victim.reason != FAIR)
    latest = taken[::-1]
    yield sorted(latest, key=lambda victim: victim.reason == FAIR)


def _spared_in(search: Search, taken: Found, order: Found) -> Found:
    """What is left of the victims after putting back in this order whoever is not needed, the last one too."""
    trial = Search(search.snapshot, search.claimant, search.asked, search.contested, None)
    if search.room is not None:
        trial.room = search.room.afresh()
    for victim in taken:
        trial.take(victim)
    gone = {victim.row for victim in taken}
    for victim in order:
        trial.put_back(victim)
        if trial.fits():
            gone.discard(victim.row)
        else:
            trial.take(victim)
    return [victim for victim in taken if victim.row in gone]
