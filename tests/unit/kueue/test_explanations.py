"""Why this one, and why not that one: every workload of the tree has a sentence with the numbers that decided."""

import json
from pathlib import Path

import pytest

import cede
from cede.doctrines.kueue.rules import RULES
from tests.builders import Entry, cohort, decided, fair, kueue, pending, queue, running, verdicts

VECTORS = sorted((Path(__file__).parents[2] / "vectors" / "kueue").glob("*.json"))
ALL = {"within": "LowerPriority", "reclaim": "Any"}
IDS = {rule.id: rule for rule in RULES}
HOLDS = ("reserved", "running", "checkpointing", "preempting")
TAKES = {
    "kueue.within-cluster-queue",
    "kueue.reclaim-within-cohort",
    "kueue.borrow-within-cohort",
    "kueue.fair-sharing",
}


def sentence(cluster: cede.Cluster, name: str, claimant: str = "in") -> str:
    made = decided(cluster, claimant, explain=True)
    assert made.candidates is not None
    return next(one.why for one in made.candidates if one.workload == name)


# -- over all of Kueue's own cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_sentence_is_filled_in_and_every_verdict_agrees(path: Path) -> None:
    """Whoever searches is told of everybody who holds room in its tree."""
    document = json.loads(path.read_text(encoding="utf-8"))["cluster"]
    parents = {queue["name"]: queue.get("parent") for queue in document["queues"]}

    def root(name: str) -> str:
        return name if parents.get(name) is None else root(parents[name])

    works = {work["name"]: work for work in document["workloads"]}
    for made in cede.plan(cede.load(document), explain=True).decisions:
        assert made.candidates is not None
        said = [made.why, *(one.why for one in made.candidates), *(one.why for one in made.warnings)]
        said += [one.why for one in made.nearest_miss]
        assert all(text and not set("‹›{}") & set(text) for text in said)
        assert {made.rule, *(one.rule for one in made.candidates)} <= IDS.keys()
        taken = {one.workload: one.rule for one in made.candidates if one.verdict == "victim"}
        assert taken.keys() == {victim.workload for victim in made.victims}
        assert set(taken.values()) <= TAKES
        if made.action != "preempt" and made.rule not in ("kueue.no-victims", "kueue.share-recheck"):
            continue
        tree = root(works[str(made.workload)]["queue"])
        here = [name for name, work in works.items() if work.get("state") in HOLDS and root(work["queue"]) == tree]
        assert sorted(here) == [one.workload for one in made.candidates]


# -- what a sentence says --------------------------------------------------------------------------------------------


def within(policy: str, **old: object) -> cede.Cluster:
    return kueue(queue("q", cpu=4, within=policy), running("old", cpu=4, **old), pending("in", cpu=4, priority=5))


@pytest.mark.parametrize(
    ("policy", "old", "said"),
    [
        ("LowerPriority", {"priority": 3}, "priority 3 is below 5"),
        ("LowerOrNewerEqualPriority", {"priority": 3}, "priority 3 is below 5"),
        ("LowerOrNewerEqualPriority", {"priority": 5, "submitted": 1}, "equal priority 5, and it is newer"),
    ],
)
def test_of_the_own_queue_the_policy_and_the_comparison_are_told(
    policy: str, old: dict[str, object], said: str
) -> None:
    assert sentence(within(policy, **old), "old") == (
        f"InClusterQueue: it is in the claimant's own queue q; withinClusterQueue {policy}: {said}"
    )


@pytest.mark.parametrize(("policy", "priority"), [("LowerPriority", 5), ("LowerOrNewerEqualPriority", 6)])
def test_so_they_are_of_one_that_is_protected(policy: str, priority: int) -> None:
    said = sentence(within(policy, priority=priority), "old")

    assert f"its priority {priority} is not below the claimant's 5" in said
    assert f"withinClusterQueue {policy}" in said


def tree(*more: Entry, asks: int = 4) -> cede.Cluster:
    """`q` below `left` below `root`; `near` shares left with it, `far` only the root; both borrow."""
    return kueue(cohort("root"), cohort("left", "root", cpu=4), queue("q", "left", cpu=2, **ALL),
                 queue("near", "left", cpu=0), queue("far", "root", cpu=0), cohort("right", "root", cpu=2),
                 queue("safe", "right", cpu=0), *more, pending("in", queue="q", cpu=asks, priority=5))  # fmt: skip


@pytest.mark.parametrize(
    ("asks", "near", "far", "name", "said"),
    [
        (2, 4, 4, "far", "common ancestor root, advantage decided at q: the request fits the own quota of q"),
        (2, 4, 4, "near", "common ancestor left, advantage decided at q: the request fits the own quota of q"),
        (4, 2, 4, "far", "common ancestor root, advantage decided at left: the request fits the quota of cohort left"),
    ],
)
def test_the_level_of_the_tree_at_which_the_advantage_was_decided_is_told(
    asks: int, near: int, far: int, name: str, said: str
) -> None:
    others = (running("near", queue="near", cpu=near, priority=7 if name == "far" else 0),
              running("far", queue="far", cpu=far, priority=0 if name == "far" else 7))  # fmt: skip

    told = sentence(tree(*others, asks=asks), name)

    assert said in told
    assert f"its queue {name} holds {near if name == 'near' else far} of 0 cpu; " in told
    assert told.endswith("reclaimWithinCohort Any: priority 0 is below 5")


def test_without_advantage_that_is_told_too() -> None:
    cluster = kueue(queue("a", "pool", cpu=2, reclaim="LowerPriority", borrow={"policy": "LowerPriority"}),
                    queue("b", "pool", cpu=2), running("old", queue="b", cpu=4, priority=1),
                    pending("in", queue="a", cpu=3, priority=5))  # fmt: skip

    assert "common ancestor pool, no advantage: with the request no quota below it would be kept" in sentence(
        cluster, "old"
    )


def test_the_cohort_that_protects_its_queues_is_named_with_its_numbers() -> None:
    cluster = tree(running("far", queue="far", cpu=6), running("mine", queue="safe", cpu=2), asks=2)

    assert sentence(cluster, "mine") == "its queue safe is in cohort right, which is within its quota: 2 of 2 cpu"


# -- fair sharing ----------------------------------------------------------------------------------------------------


def test_a_cohort_that_borrows_nothing_protects_its_queues_under_fair_sharing_too() -> None:
    cluster = fair(cohort("left", "pool", cpu=4), queue("a", "pool", cpu=4, **ALL), queue("b", "left", cpu=0),
                   queue("c", "pool", cpu=0), running("x", queue="b", cpu=4), running("y", queue="c", cpu=4),
                   pending("in", queue="a", cpu=4))  # fmt: skip

    assert verdicts(decided(cluster, "in", explain=True))["x"] == ("protected", "cohort-within-nominal")


@pytest.mark.parametrize("kept", [0, 1])
def test_shares_before_and_after_are_told_of_victims_and_of_the_protected(kept: int) -> None:
    """Compared below the root, where the two ways part: `left` is the claimant's side."""
    cluster = fair(cohort("root", cpu=8), cohort("left", "root"), queue("a", "left", cpu=0, **ALL),
                   queue("b", "root", cpu=0), running("x", queue="b", cpu=4, started=-1),
                   running("y", queue="b", cpu=4, started=-2 + 2 * kept), pending("in", queue="a", cpu=4 + kept),
                   strategies=["LessThanOrEqualToFinalShare"])  # fmt: skip

    told = sentence(cluster, "x")

    assert "below root, left " in told
    assert f"share {'625' if kept else '500'}‰" in told
    assert "b has 1000‰, and 500‰ without this workload" in told
    assert "LessThanOrEqualToFinalShare asks for left to be at most b after" in told


# -- several heads in one cycle --------------------------------------------------------------------------------------


def test_a_later_head_is_told_what_it_found_not_what_earlier_ones_changed() -> None:
    """At its nomination `a` held 4 of 4, though `first` is counted there by now."""
    heads = (pending("first", queue="a", cpu=4, priority=6), pending("in", queue="b", cpu=4, priority=5))
    cluster = kueue(queue("a", "pool", cpu=4, **ALL), queue("b", "pool", cpu=4, **ALL), queue("c", "pool", cpu=0),
                    running("low", queue="a", cpu=4), running("old", queue="c", cpu=4), *heads)  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert verdicts(made) == {"low": ("not-eligible", "taken-already"), "old": ("victim", "reclaim-within-cohort")}


def test_an_attempt_that_failed_is_not_told() -> None:
    """Within its quota the claimant cannot stay, so that the attempt without borrowing takes all, in vain."""
    cluster = kueue(cohort("pool", cpu="2500m"), queue("a", "pool", cpu=4, **ALL), queue("b", "pool", cpu=2),
                    running("high", queue="a", cpu=2, priority=9), running("o1", queue="a", cpu="500m"),
                    running("o2", queue="a", cpu="500m"), running("x", queue="b", cpu=3),
                    pending("in", queue="a", cpu=3, priority=5))  # fmt: skip

    assert verdicts(decided(cluster, "in", explain=True)) == {
        "high": ("protected", "lower-priority-only"),
        "o1": ("victim", "within-cluster-queue"),
        "o2": ("not-needed", "not-reached"),
        "x": ("protected", "reclaim-without-borrowing"),
    }


def test_nobody_may_be_preempted_whom_no_attempt_could_have_taken() -> None:
    """`high` is above the threshold, whether its turn came or not."""
    borrow = {"policy": "LowerPriority", "maxPriorityThreshold": 3}
    cluster = kueue(queue("a", "pool", cpu=2, reclaim="LowerPriority", borrow=borrow), queue("b", "pool", cpu=2),
                    running("low", queue="b", cpu=3, priority=1), running("high", queue="b", cpu=1, priority=4),
                    pending("in", queue="a", cpu=3, priority=5))  # fmt: skip

    assert verdicts(decided(cluster, "in", explain=True))["high"] == ("protected", "reclaim-without-borrowing")


@pytest.mark.parametrize(
    ("cluster", "about"),
    [
        (kueue(queue("q", cpu=4, within="LowerPriority"), running("a", cpu=1, priority=1, started=-1),
               running("b", cpu=3, priority=1, started=-2), pending("in", cpu=3, priority=5)), "a"),
        (kueue(queue("q", cpu=4, within="LowerPriority"), running("b", cpu=3), running("a", cpu=1, priority=1),
               pending("in", cpu=3, priority=5)), "a"),
        (kueue(queue("q", cpu=4, within="LowerPriority"), running("a", cpu=1, priority=1),
               running("b", cpu=3, priority=9), pending("in", cpu=3, priority=5)), "a"),
    ],
    ids=["spared", "not reached", "not enough"],
)  # fmt: skip
def test_of_one_that_stays_though_it_might_go_queue_policy_and_priority_are_told(
    cluster: cede.Cluster, about: str
) -> None:
    told = sentence(cluster, about)

    assert "own queue q" in told
    assert "withinClusterQueue LowerPriority" in told
    assert "priority 1 is below 5" in told
