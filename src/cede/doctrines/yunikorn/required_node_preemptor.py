"""Room for an ask that needs a certain node, as release 1.9 makes it: no delay, no guarantee, no fence, no policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.parts.candidates import Candidates
from cede.doctrines.parts.orders import tie_break
from cede.doctrines.yunikorn import rules
from cede.doctrines.yunikorn.ask import Ask
from cede.doctrines.yunikorn.seven_laws import looked_at
from cede.state.columns import Bools
from cede.state.state import State


@dataclass(frozen=True, slots=True)
class ClearedNode:
    """Who goes from the node, and all that was looked at."""

    candidates: Candidates
    victims: tuple[int, ...] | None


def clear_node(state: State, ask: Ask, node: int, only: Bools | None = None) -> ClearedNode:
    """Victims in order until they alone cover the ask, whatever is free; none if with what is free they do not.

    `only`: nothing else may be taken.
    """
    work, size = state.work, state.work.size
    candidates = looked_at(state, ask, work.state[:size])
    here = np.zeros(size, np.bool_)
    here[state.residents.work[state.node_residents[node]]] = True
    candidates.protect((rules.ELSEWHERE, ~here & candidates.looked))
    candidates.protect((rules.LAW_6, work.priority[:size] > work.priority[ask.row]))
    columns = ask.claim.columns
    need = [int(ask.claim.vectors[0][column]) for column in columns]
    held = {
        int(state.residents.work[resident]): state.residents.amount[:, resident].tolist()
        for resident in state.node_residents[node]
    }
    last = tie_break(state)
    names = state.units.names
    by_name = sorted(range(1, len(names)), key=names.__getitem__)

    def turn(row: int) -> tuple[object, ...]:
        kind = 3 if work.originator[row] else (1 if work.preemptible[row] else 2)
        size_of = [held[row][column] for column in by_name]
        return kind, int(work.priority[row]), -int(work.submitted[row]), size_of, last(row)

    taken: list[int] = []
    freed = [0] * len(columns)
    open_ = candidates.open if only is None else candidates.open & only
    for row in sorted(np.flatnonzero(open_).tolist(), key=turn):
        if all(have >= want for have, want in zip(freed, need, strict=True)):
            break
        taken.append(row)
        freed = [have + held[row][column] for have, column in zip(freed, columns, strict=True)]
    free = [int(state.nodes.free[column, node]) for column in columns]
    enough = all(have + more >= want for have, more, want in zip(free, freed, need, strict=True))
    return ClearedNode(candidates, tuple(taken) if enough and taken else None)
