"""Where the ways of two queues to the root meet."""

from __future__ import annotations

from cede.doctrines.kueue.quota import Quotas


class Sides:
    """The children of the lowest common ancestor, on the claimant's side and on the other queue's."""

    def __init__(self, quotas: Quotas, queue: int) -> None:
        self.quotas = quotas
        self.path = quotas.path[queue]
        self._found: dict[int, tuple[int, int]] = {}

    def of(self, other: int) -> tuple[int, int]:
        found = self._found.get(other)
        if found is None:
            theirs = self.quotas.path[other]
            common = next(node for node in self.path if node in theirs)
            found = (self.path[self.path.index(common) - 1], theirs[theirs.index(common) - 1])
            self._found[other] = found
        return found
