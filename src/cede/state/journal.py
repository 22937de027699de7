"""What changed since somebody last looked, so that a decision need not look at what did not."""

from __future__ import annotations

from collections.abc import Callable


class Journal:
    """`rows`: workloads that came, started, changed how they hold their room or what they would lose, in order, since
    it was emptied; for one that went, whose row may be somebody else's by now, the row inverted. Written only while
    somebody `follows`. `grown` counts the times that room may have grown, `reshaped` the changes of nodes, queues and
    units, `saved` checkpoints written. `reader` is who emptied the rows last: whoever else followed has missed
    something."""

    __slots__ = ("follows", "grown", "reader", "reshaped", "rows", "saved")

    def __init__(self) -> None:
        self.follows = False
        self.reader: object = None
        self.rows: list[int] = []
        self.grown = 0
        self.reshaped = 0
        self.saved = 0

    def aside(self) -> Journal:
        """The same counts, for somebody who reads the state beside the one that follows, who misses nothing by it."""
        found = Journal()
        found.grown, found.reshaped, found.saved = self.grown, self.reshaped, self.saved
        return found

    def begin(self, reader: object) -> None:
        """From now on this one follows, and what was written before is of no interest."""
        self.follows = True
        self.reader = reader
        self.rows.clear()

    def take(self, came: Callable[[int], object], went: Callable[[int], object]) -> None:
        """Hand every row to one of these, in order, and be empty."""
        rows = self.rows
        for row in rows:
            if row < 0:
                went(~row)
            else:
                came(row)
        rows.clear()

    def move(self, row: int) -> None:
        if self.follows:
            self.rows.append(row)

    def end(self, row: int) -> None:
        if self.follows:
            self.rows.append(~row)
