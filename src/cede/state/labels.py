"""Sets of node labels, each kept once, and which of them carry a label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cede.state.columns import Bools

Pair = tuple[str, str]


@dataclass(slots=True)
class LabelSets:
    """Distinct sets by number; a node's row has the number of its set."""

    sets: list[Mapping[str, str]] = field(default_factory=list)
    _codes: dict[tuple[Pair, ...], int] = field(default_factory=dict)
    _carried: dict[Pair, list[int]] = field(default_factory=dict)

    def code(self, labels: Mapping[str, str]) -> int:
        key = tuple(sorted(labels.items()))
        found = self._codes.get(key)
        if found is None:
            found = self._codes[key] = len(self.sets)
            self.sets.append(dict(key))
            for pair in key:
                self._carried.setdefault(pair, []).append(found)
        return found

    def having(self, labels: Mapping[str, str]) -> Bools:
        """Which sets carry all these labels."""
        match = np.ones(len(self.sets), np.bool_)
        for pair in labels.items():
            having = np.zeros(len(self.sets), np.bool_)
            having[self._carried.get(pair, [])] = True
            match &= having
        return match
