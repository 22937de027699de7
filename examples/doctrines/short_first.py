"""Short jobs first: who asked for much more time gives way, unless it is past the middle of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from pydantic import Field

from cede.doctrines.parts.assembled import Protects, Recipe, VictimOrder, assembled
from cede.doctrines.parts.claim import Claim
from cede.model.lint import Finding
from cede.model.rules import RuleSet
from cede.model.settings import Means
from cede.model.times import show_duration
from cede.model.values import Part, whole
from cede.state.columns import NEVER, Int64s
from cede.state.state import State

RULES = RuleSet("short-first")
LONGER = RULES.admits("longer", "it asked for {walltime}, and the claimant for no more than {claimant_walltime}")
NOT_LONGER = RULES.protects("not-much-longer", "it asked for {walltime}, not many times {claimant_walltime}")
PAST_MIDDLE = RULES.protects("past-the-middle", "it has worked for {ran} of {walltime}, which is most of it")
ENDLESS = RULES.waits("endless", "no node has room, and without a walltime it takes nobody's", until=("room",))


class Settings(Part):
    times: Annotated[int, whole(least=2), Means("how many times longer a victim must be")] = Field(4, description="4.")


def longest(state: State) -> Int64s:
    """The walltimes of all; who names none may run for ever."""
    return state.work.walltime[: state.work.size]


def protects(state: State, claim: Claim, settings: Settings) -> Protects:
    walltime, ran = longest(state), state.now - state.work.started[: state.work.size]
    yield NOT_LONGER, walltime // settings.times < state.work.walltime[claim.row]
    yield PAST_MIDDLE, (walltime != NEVER) & (ran > walltime // 2)


def facts(state: State, claimant: int, row: int) -> dict[str, object]:
    def shown(of: int) -> str:
        time = int(state.work.walltime[of])
        return "no end" if time == NEVER else show_duration(time)

    ran = show_duration(max(0, state.now - int(state.work.started[row])))
    return {"walltime": shown(row), "claimant_walltime": shown(claimant), "ran": ran}


def lint(state: State, _settings: Settings) -> Iterator[Finding]:
    endless = np.flatnonzero(longest(state) == NEVER)
    for row in sorted(row for row in state.work_index.values() if row in endless):
        said = "it names no walltime: it preempts nobody, and everybody may preempt it"
        yield Finding("short-first.lint.endless", f"workloads[{state.work_names[row]}]", said, "give it a walltime")


DOCTRINE = assembled(
    Recipe(
        rules=RULES,
        title="Short jobs first",
        because=LONGER,
        protects=protects,
        settings=Settings,
        facts=facts,
        turn=lambda state, rows, _: (state.work.walltime[rows], state.work.submitted[rows]),
        first=lambda state, _: VictimOrder(-longest(state), -state.work.started[: state.work.size]),
        cannot=lambda state, row, _: ENDLESS if state.work.walltime[row] == NEVER else None,
        lint=lint,
    )
)
