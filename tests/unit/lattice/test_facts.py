"""Every fact of Lattice is tested somewhere, or there is a reason why not; and where states and moves differ."""

from __future__ import annotations

import pytest

from cede.model.lifecycle import FINAL, TABLE, Phase
from tests.unit.lattice import (
    test_facts_of_admission,
    test_facts_of_costs,
    test_facts_of_life,
    test_facts_of_places,
)
from tests.unit.lattice.fact_files import ELSEWHERE, FACTS, TESTS, WITHOUT, Fact, fact, facts_of, named

MODULES = (test_facts_of_admission, test_facts_of_costs, test_facts_of_life, test_facts_of_places)
TESTED = {"state_transition", *(kind for module in MODULES for kind in module.KINDS)}


def test_every_fact_is_tested_here_or_elsewhere_or_has_a_reason_why_not() -> None:
    here = {one["id"] for kind in TESTED for one in facts_of(kind)}

    assert not set(ELSEWHERE) & set(WITHOUT)
    assert here | set(ELSEWHERE) | set(WITHOUT) == {one["id"] for one in FACTS}
    assert len(here) + len(ELSEWHERE) + len(WITHOUT) == len(FACTS) == 187


@pytest.mark.parametrize("number", ELSEWHERE)
def test_the_test_elsewhere_is_there(number: str) -> None:
    file, name = ELSEWHERE[number]

    assert f"\ndef {name}(" in (TESTS / file).read_text(encoding="utf-8")


# -- states ------------------------------------------------------------------------------------------------------------

MOVES = {(str(before), str(after)) for (before, _), after in TABLE.items()}
SAME = {"pending", "running", "checkpointing", "suspended", "completed", "failed", "cancelled"}
OWN_WORD = {"staging": "starting"}

OTHERWISE: dict[tuple[str, str], str] = {
    ("pending", "running"): "whoever starts is `starting` first",
    ("pending", "failed"): "what cannot run is refused when it is submitted",
    ("suspended", "failed"): "the same; a checkpoint that cannot be used is found out when it runs",
    ("starting", "cancelled"): "it is `cancelling` until its processes are gone",
    ("running", "cancelled"): "the same",
    ("checkpointing", "cancelled"): "the same",
    ("suspended", "pending"): "a suspended workload waits in the queue like a pending one, and starts from there",
}
"""Moves of Lattice that take Cede another way."""

MORE: dict[tuple[str, str], str] = {
    ("checkpointing", "running"): "a checkpoint is written also by who stays",
    ("checkpointing", "completed"): "a natural end wins over a checkpoint under way",
    ("starting", "completed"): "one may end before it was seen to begin",
    ("suspended", "starting"): "a suspended workload waits in the queue like a pending one, and starts from there",
}
"""Moves of Cede between states that Lattice has too."""


def test_the_moves_of_a_workload_are_those_of_the_matrix_but_for_a_few_with_a_reason() -> None:
    given = fact("lattice-227")["expect"]
    matrix = {
        (OWN_WORD.get(before, before), OWN_WORD.get(after, after))
        for before, afters in given["allowed"].items()
        for after in afters
    }
    ours = {(before, after) for before, after in MOVES if {before, after} <= SAME | set(OWN_WORD.values())}

    assert matrix - ours == set(OTHERWISE)
    assert ours - matrix == set(MORE)
    assert {str(phase) for phase in FINAL} == {*given["terminal"], "preempted"}


@pytest.mark.parametrize(
    "one", [one for one in facts_of("state_transition") if one["given"]["machine"] == "allocation"][1:], ids=named
)
def test_a_move_that_lattice_forbids_there_is_not(one: Fact) -> None:
    given = one["given"]

    assert one["expect"]["allowed"] is False
    assert (given["from_state"], given["to_state"]) not in MOVES
    assert {given["from_state"], given["to_state"]} <= set(Phase)
