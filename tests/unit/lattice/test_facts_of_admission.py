"""Facts about what is accepted: at submission, under quotas, and what never leads to a preemption."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

import cede
from cede.live.api.bodies import Submission
from tests.builders import Entry, actions, decided
from tests.builders import policy as range_of
from tests.unit.lattice.fact_files import Fact, fact, facts_of, named
from tests.unit.lattice.small import core, document, node, policy, tenant, vcluster, wants, whole

KINDS = ("admission", "quota", "trigger", "sensitive")
A = vcluster("a", "hpc_batch")
BOTH = pytest.mark.parametrize("edition", [policy, core], ids=["policy", "core"])


# -- submission --------------------------------------------------------------------------------------------------------

FIELDS = {"preemption_class": "priority", "min_nodes": "members"}


PLAIN = [one for one in facts_of("admission") if set(one["given"]["spec"]) <= set(FIELDS)]


@pytest.mark.parametrize("one", PLAIN, ids=named)
def test_a_workload_is_accepted_or_the_field_is_named(one: Fact) -> None:
    [(name, value)] = one["given"]["spec"].items()
    data = document(A, node(), wants("in", priority=5))
    data["workloads"][0] |= {FIELDS[name]: value}

    if one["expect"]["accepted"]:
        assert actions(cede.load(data)) == {"in": "start"}
        return
    with pytest.raises(cede.InputError, match=FIELDS[name]) as raised:
        cede.load(data)
    assert [problem.path for problem in raised.value.problems] == [f"workloads[0].{FIELDS[name]}"]


def between(least: int, most: int) -> dict[str, Any]:
    """One that takes so many members, or fewer."""
    parts = [{"name": "all", "count": most, "min_count": least, "requests": {"gpu": 4}}]
    return {"name": "in", "queue": "a", "tenant": "t", "exclusive": True, "pod_sets": parts}


def test_a_least_number_of_members_above_the_most_is_refused() -> None:
    spec = fact("lattice-256")["given"]["spec"]
    data = document(A, node()) | {"workloads": [between(spec["reactive_min"], spec["reactive_max"])]}

    with pytest.raises(cede.InputError, match="min_count"):
        cede.load(data)
    assert fact("lattice-256")["expect"]["accepted"] is False


def test_a_policy_may_keep_the_highest_class_from_whoever_it_likes() -> None:
    """Class 10 is accepted from anyone unless the cluster says otherwise."""
    assert fact("lattice-252")["expect"]["accepted"] is True
    made = decided(policy(A, node(), range_of(user="ann", max_priority=9), wants("in", priority=10, user="ann")), "in")

    assert (made.action, made.rule) == ("refuse", "lattice.class-range")


def test_more_than_a_hundred_requeues_are_refused() -> None:
    one = fact("lattice-259")
    asked = one["given"]["spec"]["max_requeue"]

    with pytest.raises(ValidationError, match="max_requeues"):
        Submission.model_validate({"command": ["true"], "cwd": "/", "max_requeues": asked})
    most = Submission.model_validate({"command": ["true"], "cwd": "/", "max_requeues": asked - 1})
    assert most.max_requeues == 100
    assert one["expect"]["accepted"] is False


# -- quota -------------------------------------------------------------------------------------------------------------


def holding(count: int, **limits: float) -> list[Entry]:
    """Two hundred nodes, of which the tenant's work holds so many, by one workload each."""
    names = [f"n{at:03}" for at in range(200)]
    mine = [whole(f"w{at:03}", names[at], tenant="t", priority=1) for at in range(count)]
    return [A, tenant("t", **limits), *map(node, names), *mine]


def asked(entries: list[Entry], members: int, edition: Any) -> cede.Decision:
    return decided(edition(*entries, wants("in", members, tenant="t", priority=8)), "in")


@BOTH
@pytest.mark.parametrize("number", ["lattice-273", "lattice-274", "lattice-275", "lattice-277"])
def test_a_hard_limit_refuses_and_preempts_nobody(number: str, edition: Any) -> None:
    given, expect = fact(number)["given"], fact(number)["expect"]
    key = "max_nodes" if "max_nodes" in given else "max_concurrent"
    limits = {"max_nodes" if key == "max_nodes" else "max_workloads": given[key]}
    made = asked(holding(given.get("in_use", given.get("active", 0)), **limits), given.get("request", 1), edition)

    accepted = expect.get("accepted", False)
    assert (made.action, made.rule) == (("start", "lattice.fits") if accepted else ("refuse", "lattice.tenant-quota"))
    assert made.victims == ()


@pytest.mark.parametrize("edition", ["policy", "core"])
def test_one_that_could_do_with_fewer_is_charged_for_all_of_its_members(edition: str) -> None:
    given = fact("lattice-280")["given"]
    names = [f"n{at}" for at in range(given["request"]["max"])]
    data = document(A, tenant("t", max_nodes=given["max_nodes"]), *map(node, names), edition=edition)
    data |= {"workloads": [between(given["request"]["min"], given["request"]["max"])]}
    made = decided(cede.load(data), "in")

    assert (made.action, made.rule) == ("refuse", "lattice.over-limit")
    assert fact("lattice-280")["expect"]["accepted"] is False


@BOTH
def test_a_used_up_budget_lowers_the_score_and_refuses_nobody(edition: Any) -> None:
    one = fact("lattice-276")
    used = one["given"]["used"] / one["given"]["gpu_hours_budget"]
    plan = cede.plan(edition(A, tenant("t", used=used), node(), wants("in", tenant="t")), shares=True)

    assert plan.decisions[0].action == "start"
    shown = plan.to_dict()["workloads"]["in"]
    assert shown["budget_multiplier"] == pytest.approx(one["expect"]["score_multiplier"])


@BOTH
def test_what_was_accepted_before_a_quota_is_lowered_stays(edition: Any) -> None:
    one = fact("lattice-282")
    given = one["given"]
    before = asked(holding(given["in_use"], max_nodes=given["max_nodes_before"]), given["request"], edition)
    after = cede.plan(
        edition(*holding(one["expect"]["in_use"], max_nodes=given["max_nodes_after"]), wants("new", tenant="t"))
    )

    assert before.action == "start"
    assert after.victims == set()
    assert [made.rule for made in after.decisions] == ["lattice.tenant-quota"]


@pytest.mark.parametrize(("number", "waits"), [("lattice-283", True), ("lattice-284", False)])
def test_gpu_hours_are_hours_times_nodes_times_gpus(number: str, waits: bool) -> None:
    """Seen in the backlog, which is queued over running GPU-hours: half of it, with twice as much on the other side."""
    given, expect = fact(number)["given"], fact(number)["expect"]
    count, hours = given["nodes"], expect["gpu_hours"]
    names = [f"n{at}" for at in range(count)]
    other = 2 * hours if waits else hours / 2
    length = {"walltime": f"{given['hours']}h", "gpu": given["gpus"]}
    if waits:
        work = [whole("run", "m", walltime=f"{other / 4}h", started=0), wants("in", count, **length)]
    else:
        work = [whole("run", " ".join(names), started=0, **length), wants("in", walltime=f"{other / 4}h")]
    entries = [A, node("m"), *(node(name, gpu=given["gpus"]) for name in names), *work]
    shown = cede.plan(policy(*entries), shares=True).to_dict()["workloads"]["in"]

    assert shown["factors"]["backlog"] == pytest.approx(0.5)


# -- what never leads to a preemption ----------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("one", facts_of("trigger"), ids=named)
def test_neither_quota_nor_budget_preempts(one: Fact, edition: Any) -> None:
    """With a claimant of the same tenant that would preempt if it were for its class alone."""
    reasons: dict[str, dict[str, float]] = {"quota": {"max_nodes": 1}, "budget": {"used": 2.0}}
    limits = reasons[one["given"]["reason"]]
    old = whole("old", "n1", tenant="t", priority=1)
    plan = cede.plan(
        edition(A, tenant("t", **limits), node("n1"), node("n2"), old, wants("in", tenant="t", priority=8))
    )

    assert plan.victims == set()
    assert [made.action for made in plan.decisions] == ["refuse" if "max_nodes" in limits else "start"]
    assert one["expect"]["preempt"] is False


# -- sensitive ---------------------------------------------------------------------------------------------------------


@BOTH
def test_class_ten_and_the_flag_are_the_two_ways_to_be_sensitive(edition: Any) -> None:
    """The file's flag stands for the tag that the library looks at; the field that it ignores there is not here."""
    [one] = facts_of("sensitive")
    ways: list[dict[str, Any]] = [{"priority": 10}, {"priority": 1, "sensitive": True}]

    for way, protected in zip(ways, one["expect"]["protected"], strict=False):
        made = decided(edition(A, node(), whole("old", "n1", **way), wants("in", priority=9)), "in", explain=True)
        assert (made.action == "wait") is protected
        assert made.candidates is not None
        assert [candidate.rule for candidate in made.candidates] == ["lattice.sensitive"]


def test_every_fact_about_quota_is_one_of_these() -> None:
    numbers = (273, 274, 275, 276, 277, 280, 282, 283, 284)

    assert {one["id"] for one in facts_of("quota")} == {f"lattice-{number}" for number in numbers}
    assert {one["id"] for one in facts_of("sensitive")} == {"lattice-327"}
