"""Resource policies: the default priority, whether it may be changed, and the range, for users and projects."""

import pytest

import cede
from tests.builders import Entry, cluster_of, decided, node, pending, policy, running

EDITIONS = ("bep-1014", "26.8")
NODE = node("n1", cpu=4)


def outcome(edition: str, *policies: Entry, **claimant: object) -> tuple[str, str]:
    made = decided(cluster_of(NODE, *policies, pending("in", cpu=1, **claimant), edition=edition), "in")
    return made.action, made.rule.partition(".")[2]


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("limits", "priority", "expected"),
    [
        ({"max_priority": 5}, 5, ("start", "fits")),
        ({"max_priority": 5}, 6, ("refuse", "priority-range")),
        ({"max_priority": 10}, 50, ("refuse", "priority-range")),
        ({"min_priority": 3}, 3, ("start", "fits")),
        ({"min_priority": 3}, 2, ("refuse", "priority-range")),
        ({"min_priority": 3, "max_priority": 5}, 4, ("start", "fits")),
        ({"may_change": True, "default_priority": 3}, 9, ("start", "fits")),
        ({"may_change": False, "default_priority": 3}, 3, ("start", "fits")),
        ({"may_change": False, "default_priority": 3}, 4, ("refuse", "priority-fixed")),
        ({"may_change": False}, 10, ("start", "fits")),
        ({"may_change": False}, 11, ("refuse", "priority-fixed")),
        ({}, 100, ("start", "fits")),
        ({"max_priority": 0}, 0, ("start", "fits")),
    ],
)
@pytest.mark.parametrize("owner", ["user", "project"])
def test_a_priority_is_allowed_or_refused(
    edition: str, owner: str, limits: dict[str, object], priority: int, expected: tuple[str, str]
) -> None:
    assert outcome(edition, policy(**{owner: "ann"}, **limits), priority=priority, **{owner: "ann"}) == expected


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_policy_binds_only_its_owner(edition: str) -> None:
    assert outcome(edition, policy(user="ann", max_priority=5), priority=50, user="bob") == ("start", "fits")
    assert outcome(edition, policy(user="ann", max_priority=5), priority=50, project="ann") == ("start", "fits")
    assert outcome(edition, policy(user="ann", max_priority=5), priority=50) == ("start", "fits")


def test_the_policies_of_user_and_project_both_bind() -> None:
    user, project = policy(user="ann", max_priority=9), policy(project="vision", max_priority=5)

    assert outcome("26.8", user, project, priority=5, user="ann", project="vision") == ("start", "fits")
    made = decided(
        cluster_of(NODE, user, project, pending("in", cpu=1, priority=7, user="ann", project="vision")), "in"
    )
    assert made.why == "priority 7 is outside 0..5, the range that project vision may use"


def test_job_priority_is_not_capped() -> None:
    assert outcome("26.8", policy(user="ann", max_priority=5), priority=5, job_priority=100, user="ann")[0] == "start"


# -- the default -----------------------------------------------------------------------------------------------------


def priority_of(*policies: Entry, **owner: str) -> int:
    """The priority of a workload that names none."""
    state = cluster_of(NODE, *policies, pending("in", cpu=1, **owner)).state
    return int(state.work.priority[state.work_index["in"]])


@pytest.mark.parametrize(
    ("policies", "owner", "expected"),
    [
        ((), {"user": "ann"}, 10),
        ((policy(user="ann", default_priority=3),), {"user": "ann"}, 3),
        ((policy(user="ann", default_priority=3),), {"user": "bob"}, 10),
        ((policy(project="vision", default_priority=4),), {"project": "vision"}, 4),
        ((policy(user="ann", default_priority=3), policy(project="vision", default_priority=4)),
         {"user": "ann", "project": "vision"}, 3),
        ((policy(user="ann", max_priority=20), policy(project="vision", default_priority=4)),
         {"user": "ann", "project": "vision"}, 4),
        ((policy(user="ann", default_priority=0),), {"user": "ann"}, 0),
    ],
)  # fmt: skip
def test_a_workload_without_priority_has_its_owners_default(
    policies: tuple[Entry, ...], owner: dict[str, str], expected: int
) -> None:
    assert priority_of(*policies, **owner) == expected


def test_a_default_orders_the_queue_and_decides_who_may_preempt() -> None:
    cluster = cluster_of(
        NODE, policy(user="ann", default_priority=20), policy(user="low", default_priority=2),
        running("old", cpu=4, user="low"), pending("bob", cpu=4, submitted=-9), pending("ann", cpu=4, user="ann"),
    )  # fmt: skip

    plan = cede.plan(cluster)

    assert [(made.workload, made.action) for made in plan.decisions] == [("ann", "preempt"), ("bob", "wait")]
    assert plan.victims == {"old"}


def test_the_range_is_for_those_who_may_choose() -> None:
    assert outcome("bep-1014", policy(user="ann", max_priority=5, may_change=False), user="ann") == ("start", "fits")


def test_who_may_not_change_it_gets_the_default_without_asking() -> None:
    fixed = policy(user="ann", default_priority=3, may_change=False)

    assert outcome("bep-1014", fixed, user="ann") == ("start", "fits")


def test_a_default_outside_the_projects_range_is_refused_with_the_numbers() -> None:
    cluster = cluster_of(NODE, policy(user="ann", default_priority=20), policy(project="vision", max_priority=5),
                         pending("in", cpu=1, user="ann", project="vision"))  # fmt: skip

    assert decided(cluster, "in").why == "priority 20 is outside 0..5, the range that project vision may use"


def test_two_owners_who_may_not_choose_agree_on_the_priority_the_workload_has() -> None:
    """The user's default is the workload's own; the project, which may not choose either, does not object to it."""
    policies = (policy(user="ann", default_priority=3, may_change=False),
                policy(project="vision", default_priority=4, may_change=False))  # fmt: skip

    assert outcome("bep-1014", *policies, user="ann", project="vision") == ("start", "fits")
    assert outcome("bep-1014", *policies, user="ann", project="vision", priority=4) == ("refuse", "priority-fixed")
