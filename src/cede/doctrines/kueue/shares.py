"""What the doctrine computes before it decides: shares, and what every queue can still take."""

from __future__ import annotations

from typing import Any

from cede.doctrines.kueue.book import Book, book_of
from cede.doctrines.kueue.drs import Shares
from cede.doctrines.kueue.quota import quotas_of
from cede.model.quantities import format_quantity
from cede.state.state import State


def shares(state: State, _edition: str) -> dict[str, dict[str, Any]]:
    """Queues and cohorts by name: dominant share and resource, whether they borrow, available, potential, usage."""
    quotas = quotas_of(state)
    book = book_of(state, quotas)
    found = Shares(book)
    queues = {
        quotas.names[row]: _of(book, found, row) for row in sorted(range(quotas.size), key=quotas.names.__getitem__)
    }
    return {"queues": queues, "apps": {}, "workloads": {}}


def _of(book: Book, shares: Shares, row: int) -> dict[str, Any]:
    quotas = book.quotas
    share = shares.share(row)
    pairs = quotas.declared[row]

    def amounts(numbers: list[int]) -> dict[str, int | str]:
        named = zip(pairs, numbers, strict=True)
        return {f"{quotas.name(pair)}": format_quantity(number * quotas.nano[pair]) for pair, number in named}

    return {
        "dominant_share": 1e9 if share[0] else shares.per_mille(row, share),
        "dominant_resource": shares.dominant(row),
        "borrowing": shares.borrowing(row),
        "quota": amounts([quotas.subtree[pair][row] for pair in pairs]),
        "usage": amounts([book.used[pair][row] for pair in pairs]),
        "available": amounts([book.available(pair, row) for pair in pairs]),
        "potential": amounts([quotas.potential[pair][row] for pair in pairs]),
    }
