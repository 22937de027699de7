"""Who may be preempted by whom, for each of the three reasons, and which rule protects the others."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from tests.builders import Entry, decided, verdicts
from tests.unit.lattice.small import AUTO, MANUAL, NONE, node, nodes, part, policy, vcluster, wants, whole

TYPES = ("hpc_batch", "ml_training", "service", "sensitive", "interactive")
A, B = vcluster("a", "hpc_batch"), vcluster("b", "hpc_batch")
OF_A = (node("n1", "a"), A)
BY_CLASS = wants("in", queue="a", priority=8)
BY_CLAIM = wants("in", queue="a", priority=1, sensitive=True, constraints={"nodes": ["n1"]})


def judged(*entries: Entry, **settings: Any) -> tuple[str, str]:
    """Verdict and rule of `old` when `in` wants its node."""
    made = decided(policy(*entries, **settings), "in", explain=True)
    return verdicts(made)["old"]


def by_class(*more: Entry, **values: Any) -> tuple[str, str]:
    """The same for a claimant of class 8 in the same vCluster, on a node of nobody."""
    return judged(node(), A, *more, whole("old", "n1", **{"priority": 1, **values}), wants("in", priority=8))


def reclaimed(borrower: Entry = B, **values: Any) -> tuple[str, str]:
    """The same for a claimant of class 0 that wants its vCluster's node back."""
    old = whole("old", "n1", **{"queue": "b", "priority": 9, **values})
    return judged(*OF_A, borrower, old, wants("in", queue="a", priority=0))


def claimed(**values: Any) -> tuple[str, str]:
    """The same for a sensitive claim on the node."""
    return judged(node(), A, whole("old", "n1", **values), BY_CLAIM)


PRIORITY, RECLAIM, CLAIM = ("victim", "priority"), ("victim", "reclaim"), ("victim", "sensitive-claim")
LATE: dict[str, Any] = {"started": -3301, "walltime": "1h"}


@pytest.mark.parametrize(("class_", "goes"), [(0, True), (7, True), (8, False), (9, False), (10, False)])
def test_only_a_strictly_lower_class_goes(class_: int, goes: bool) -> None:
    assert (by_class(priority=class_) == PRIORITY) is goes


@pytest.mark.parametrize("state", ["reserved", "checkpointing", "preempting"])
def test_only_running_work_goes_whatever_the_reason(state: str) -> None:
    for judge in (by_class, reclaimed, claimed):
        assert judge(state=state) == ("not-eligible", "running-only")


def test_who_asks_not_to_be_preempted_is_not_whatever_the_reason() -> None:
    for judge in (by_class, reclaimed, claimed):
        assert judge(preemptible=False) == ("protected", "opt-out")


@pytest.mark.parametrize("how", [{"sensitive": True}, {"priority": 10}])
def test_sensitive_work_does_not_go_whatever_the_reason(how: dict[str, Any]) -> None:
    for judge in (by_class, reclaimed, claimed):
        assert judge(**how) == ("protected", "sensitive")


def test_work_of_a_sensitive_vcluster_does_not_go() -> None:
    quiet = vcluster("quiet", "sensitive")
    for claimant in (BY_CLASS, BY_CLAIM):
        assert judged(node(), A, quiet, whole("old", "n1", queue="quiet", priority=1), claimant)[1] == "sensitive"


@pytest.mark.parametrize(
    ("left", "spared"), [(301, False), (300, True), (299, True), (0, True), (-60, True)]
)  # fmt: skip
def test_near_its_end_nobody_goes_but_for_a_sensitive_claim(left: int, spared: bool) -> None:
    times: dict[str, Any] = {"started": left - 3600, "walltime": "1h"}

    assert (by_class(**times) == ("protected", "near-completion")) is spared
    assert (reclaimed(**times) == ("protected", "near-completion")) is spared
    assert claimed(**times) == CLAIM


def test_the_threshold_can_be_set() -> None:
    old, claimant = whole("old", "n1", priority=1, **LATE), wants("in", priority=8)

    assert judged(node(), A, old, claimant, near_completion_threshold="4m") == PRIORITY
    assert judged(node(), A, old, claimant, near_completion_threshold="299s") == ("protected", "near-completion")
    assert judged(node(), A, old, claimant, near_completion_threshold="298s") == PRIORITY


def test_what_has_not_begun_is_not_near_its_end() -> None:
    assert by_class(walltime="1m") == PRIORITY
    assert by_class(started=-9999) == PRIORITY


@pytest.mark.parametrize(
    ("class_", "mode", "spared"), [(6, NONE, False), (7, NONE, True), (7, AUTO, False), (7, MANUAL, False)]
)
def test_who_writes_no_checkpoints_is_spared_from_class_seven_on_unless_its_node_is_lent(
    class_: int, mode: dict[str, str], spared: bool
) -> None:
    assert (by_class(priority=class_, checkpoint=mode) == ("protected", "no-checkpoint")) is spared
    assert reclaimed(priority=class_, checkpoint=mode) == RECLAIM
    assert claimed(priority=class_, checkpoint=mode) == CLAIM


# -- vClusters ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TYPES)
def test_of_the_types_only_service_and_sensitive_protect(kind: str) -> None:
    spared = {"service": ("protected", "service-at-home"), "sensitive": ("protected", "sensitive")}

    assert judged(node("n1", "a"), vcluster("a", kind), whole("old", "n1", priority=1), wants("in", priority=8)) == (
        spared.get(kind, PRIORITY)
    )


@pytest.mark.parametrize(
    ("homes", "spared"),
    [(("s", "s"), True), ((None, None), True), (("s", "b"), True), ((None, "b"), True), (("b", "b"), False)],
)
def test_a_service_goes_only_if_every_node_it_holds_is_borrowed(homes: tuple[str | None, ...], spared: bool) -> None:
    service = (vcluster("s", "service"), B, node("n1", homes[0]), node("n2", homes[1]))
    found = judged(*service, A, whole("old", "n1 n2", queue="s", priority=1), wants("in", 2, queue="a", priority=8))

    assert found == (("protected", "service-at-home") if spared else PRIORITY)


def test_a_service_on_a_lent_node_is_no_reason_to_wait_for_whose_node_it_is() -> None:
    assert reclaimed(vcluster("b", "service")) == RECLAIM


# -- reclaim -----------------------------------------------------------------------------------------------------------


def test_who_is_in_the_same_vcluster_borrows_nothing() -> None:
    assert judged(*OF_A, whole("old", "n1", priority=9), wants("in", priority=0)) == ("protected", "lower-class-only")


def test_work_without_a_vcluster_borrows_and_its_claimants_reclaim_nothing() -> None:
    assert judged(*OF_A, B, whole("old", "n1", priority=9), wants("in", queue="a", priority=0)) == RECLAIM
    assert judged(node(), A, B, whole("old", "n1", priority=9, queue="b"), wants("in", priority=0))[0] == "protected"


def test_one_lent_node_of_many_is_enough() -> None:
    entries = (*OF_A, B, node("n2"), whole("old", "n1 n2", queue="b", priority=9))

    assert judged(*entries, wants("in", queue="a", priority=0)) == RECLAIM


def test_a_lent_node_that_the_claimant_cannot_use_gives_no_right() -> None:
    """It wants n2, which is nobody's; that `old` also borrows n1 of its vCluster does not matter."""
    entries = (*OF_A, B, node("n2", zone="z"), whole("old", "n1 n2", queue="b", priority=9))
    claimant = wants("in", queue="a", priority=0, constraints={"labels": {"zone": "z"}})

    assert judged(*entries, claimant) == ("protected", "lower-class-only")


def test_a_lower_class_that_borrows_is_reclaimed_and_not_taken_by_class() -> None:
    found = judged(*OF_A, B, whole("old", "n1", queue="b", priority=1), wants("in", queue="a", priority=8))

    assert found == RECLAIM


# -- sensitive claims --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claimant", "is_claim"),
    [
        ({"sensitive": True, "constraints": {"nodes": ["n1"]}}, True),
        ({"sensitive": True, "required_node": "n1"}, True),
        ({"priority": 10, "constraints": {"nodes": ["n1"]}}, True),
        ({"queue": "quiet", "constraints": {"nodes": ["n1"]}}, True),
        ({"sensitive": True}, False),
        ({"sensitive": True, "constraints": {"labels": {"zone": "z"}}}, False),
        ({"constraints": {"nodes": ["n1"]}}, False),
    ],
)
def test_a_sensitive_claim_is_sensitive_work_that_names_nodes(claimant: dict[str, Any], is_claim: bool) -> None:
    quiet = vcluster("quiet", "sensitive")
    old = whole("old", "n1", queue="a", priority=9)
    values = {"queue": "a", "priority": 3} | claimant

    found = judged(node("n1", zone="z"), A, quiet, old, wants("in", **values))
    assert (found == CLAIM) is is_claim
    if not is_claim:
        assert found == ("protected", "lower-class-only")


def test_a_sensitive_claim_takes_only_from_the_nodes_it_names() -> None:
    made = decided(policy(*nodes("n1 n2"), A, whole("old", "n1"), whole("far", "n2"), BY_CLAIM), "in", explain=True)

    assert verdicts(made) == {"old": CLAIM, "far": ("not-eligible", "usable-nodes")}


def test_a_sensitive_claim_knows_no_most_victims_and_no_value() -> None:
    entries = (node(), A, *(part(f"w{at}", "n1", priority=9) for at in range(4)))
    claimant = wants("in", priority=0, sensitive=True, walltime="1m", required_node="n1")

    assert cede.plan(policy(*entries, claimant)).victims == {"w0", "w1", "w2", "w3"}


def test_reasons_are_named_with_the_victims() -> None:
    """One victim is taken by class and one because it borrows; the decision's rule is the stronger."""
    entries = (*OF_A, B, node("n2"), whole("lent", "n1", queue="b", priority=9), whole("low", "n2", queue="b"))
    made = decided(policy(*entries, wants("in", 2, queue="a", priority=8)), "in")

    assert {victim.workload: victim.reason for victim in made.victims} == {"lent": "reclaim", "low": "priority"}
    assert made.rule == "lattice.reclaim"
    assert {victim.workload: victim.rule for victim in made.victims} == {
        "lent": "lattice.reclaim",
        "low": "lattice.priority",
    }


def test_another_partition_is_not_looked_at() -> None:
    blue = Entry("queues", {"name": "blue", "partition": "blue"})
    entries = (node(), node("n2", partition="blue"), A, blue, whole("far", "n2", queue="blue"))
    made = decided(
        policy(*entries, whole("old", "n1", queue="a"), wants("in", queue="a", priority=8)), "in", explain=True
    )

    assert set(verdicts(made)) == {"old"}


def test_who_never_preempts_has_no_victims_not_even_to_reclaim() -> None:
    for claimant in (
        wants("in", queue="a", preempts=False),
        wants("in", queue="a", preempts=False, sensitive=True, required_node="n1"),
    ):
        made = decided(policy(*OF_A, B, whole("old", "n1", queue="b"), claimant), "in")
        assert (made.action, made.rule) == ("wait", "lattice.may-not-preempt")
