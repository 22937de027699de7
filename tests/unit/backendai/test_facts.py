"""Facts about Backend.AI that a plan, a settled run or the settings can show.

Every fact of tests/facts/backendai.json is either shown here or listed in OUT_OF_SCOPE with the reason. Out of scope
are the ways of live sessions over several ticks (buckets of a running agent, marks, events, retries), which come with
the live controller; storage and requests of the upstream API, which Cede does not have; and what a cluster file does
not carry (container limits, fair-share factors, defaults of a group for its sessions).
"""

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.backendai.settings import DEFAULTS, SHIPPED, settings_of
from cede.engine.events import Requeued, apply
from cede.state.columns import NEVER, STATES
from tests.builders import (
    Entry,
    actions,
    decided,
    document_of,
    group,
    node,
    pending,
    policy,
    preempting,
    reserved,
    running,
    shipped,
)

Fact = dict[str, Any]
FILE = Path(__file__).parents[2] / "facts" / "backendai.json"
FACTS: dict[str, Fact] = {fact["id"]: fact for fact in json.loads(FILE.read_text(encoding="utf-8"))["facts"]}

LIVE = "live lifecycle: what happens between the plan and its effect"
API = "storage or requests of the upstream API"
OUT_OF_SCOPE = {
    **dict.fromkeys(("050", "051", "053", "056"), "buckets of a live agent while holds are admitted"),
    **dict.fromkeys(("058", "059", "060", "061"), "stopping by the user: which live states may be sent to termination"),
    **dict.fromkeys(("070", "071", "073", "075", "079", "081", "082", "102"), LIVE),
    "095": "agents have no container limit in a cluster file",
    "109": "range of an older request model; sessions and thresholds use 0..100",
    "112": "range of an older request model; sessions and thresholds use 0..100",
    **dict.fromkeys(("113", "123", "126"), API),
    "125": "group defaults for sessions are not in a cluster file; policies give the default priority",
}
NUMBERS = (
    *("048", "054", "063", "064", "066", "067", "068", "077", "083", "084", "085", "086", "087", "089", "093", "097"),
    *("100", "104", "111", "114", "115", "116", "117", "118", "119", "120", "121", "122"),
)


def fact(number: str) -> Fact:
    """One of the facts that are shown here."""
    assert number in NUMBERS
    return FACTS[f"backendai-{number}"]


def test_every_fact_is_shown_or_out_of_scope() -> None:
    assert {number.removeprefix("backendai-") for number in FACTS} == set(NUMBERS) | set(OUT_OF_SCOPE)
    assert set(NUMBERS) & set(OUT_OF_SCOPE) == set()


# -- reservation ledger ----------------------------------------------------------------------------------------------


def test_048_a_hold_larger_than_the_agent_is_refused() -> None:
    given, expect = fact("048")["given"], fact("048")["expect"]
    made = decided(shipped(node("n1", **given["capacity"]), pending("in", **given["request"])), "in")

    assert (made.action == "refuse") is not expect["reserved"]


def test_054_advance_holds_count_as_taken_for_everybody_else() -> None:
    given, expect = fact("054")["given"], fact("054")["expect"]
    entries = (node("n1", cpu=given["capacity_cpu"]), running("used", cpu=given["used_cpu"]),
               reserved("held", cpu=given["prereserved_cpu"]))  # fmt: skip

    assert (actions(shipped(*entries, pending("in", cpu=given["request_cpu"])))["in"] == "start") is expect["fits"]
    assert actions(shipped(*entries, pending("in", cpu=expect["remaining_cpu"])))["in"] == "start"


# -- status classes --------------------------------------------------------------------------------------------------

STATE_OF = {"PENDING": "pending", "PREEMPTED": "preempting", "RUNNING": "running", "RESERVED": "reserved"}


def dominant_share(state: str) -> float:
    """The share of a user whose only session is in this state."""
    entry = running("x", cpu=4, user="ann", state=state) if state != "pending" else pending("x", cpu=4, user="ann")
    result = cede.plan(shipped(node("n1", cpu=8), entry, pending("in", cpu=1, user="ann")), shares=True).to_dict()
    share: float = result["workloads"]["in"]["dominant_share"]
    return share


def test_064_what_waits_occupies_nothing_and_what_makes_way_does_in_the_share_of_its_owner() -> None:
    """The set leaves PREEMPTED out; the release, asked itself, counts such a session when it orders by share."""
    not_occupied = set(fact("064")["expect"]["not_occupied"]) - {"PREEMPTED"}

    for status, state in STATE_OF.items():
        assert (dominant_share(state) == 0) is (status in not_occupied), status


@pytest.mark.parametrize("mode", ["terminate", "reschedule"])
def test_063_what_ended_occupies_nothing(mode: str) -> None:
    assert fact("063")["expect"]["resource_occupied"] is False
    cluster = shipped(group(enabled=True, preemption_mode=mode), node("n1", cpu=4), running("x", cpu=4),
                      pending("in", cpu=4, job_priority=1))  # fmt: skip

    assert cede.settle(cluster).running == {"in": ["n1"]}


# -- routing of victims ----------------------------------------------------------------------------------------------


def one_preempts(**settings: object) -> cede.Cluster:
    return shipped(group(enabled=True, **settings), node("n1", cpu=4), running("v1", cpu=2), running("v2", cpu=2),
                   pending("in", cpu=4, job_priority=1))  # fmt: skip


def test_066_mode_reschedule_sends_all_victims_back_to_the_queue() -> None:
    given = fact("066")["given"]

    made = decided(one_preempts(preemption_mode=given["mode"]), "in")

    assert [(victim.workload, victim.fate) for victim in made.victims] == [(v, "requeued") for v in given["victims"]]


def test_067_without_victims_nothing_is_routed() -> None:
    cluster = shipped(node("n1", cpu=4), pending("in", cpu=4))

    assert len(cede.settle(cluster).preemptions) == fact("067")["expect"]["actions"]


def test_068_the_mode_of_a_group_that_never_configured_one() -> None:
    assert settings_of({}, SHIPPED).mode == fact("068")["expect"]["mode"]
    assert {victim.fate for victim in decided(one_preempts(), "in").victims} == {"ended"}


def test_077_a_requeued_session_keeps_its_priorities_and_request_and_drops_its_placement() -> None:
    given, expect = fact("077")["given"], fact("077")["expect"]
    state = shipped(
        node("n1", **given["slots"]),
        running("x", **given["slots"], priority=3, job_priority=given["job_priority"], started=-9, submitted=-20),
    ).state
    row = state.work_index["x"]
    request = state.work.need[:, row].tolist()

    apply(state, Requeued("x"))

    assert STATES[state.work.state[row]] == expect["session"].lower()
    assert (state.work.priority[row], state.work.job_priority[row]) == (3, expect["job_priority"])
    assert (state.work.need[:, row].tolist(), state.work.submitted[row]) == (request, -20_000_000)
    assert (state.nodes_of(row), state.work.started[row]) == ([], NEVER)


# -- what is no preemption -------------------------------------------------------------------------------------------


def test_083_quota_is_checked_before_preemption() -> None:
    given = fact("083")["given"]
    limited = group("rg", partition="default", max={"cpu": given["user_quota_cpu"]}, enabled=True)
    cluster = shipped(limited, node("n1", cpu=64), running("own", cpu=given["own_victim_cpu"]),
                      running("more", cpu=given["user_used_cpu"] - given["own_victim_cpu"]),
                      pending("in", cpu=given["pending_cpu"], job_priority=9))  # fmt: skip

    made = decided(cluster, "in")

    assert (made.action, made.rule, made.victims) == ("wait", "backendai.quota", ())


def test_084_a_strict_placement_failure_neither_preempts_nor_blocks() -> None:
    expect = fact("084")["expect"]
    cluster = shipped(node("n1", cpu=8, labels={"arch": "x86_64"}), running("x", cpu=4),
                      pending("first", cpu=8, job_priority=9, submitted=-9, constraints={"labels": {"arch": "arm"}}),
                      pending("next", cpu=4))  # fmt: skip

    assert bool(cede.plan(cluster).victims) is expect["preempt"]
    assert (actions(cluster)["next"] == "wait") is expect["blocks_queue"]


# -- sequencing ------------------------------------------------------------------------------------------------------


def order(scheduler: str, *entries: Entry) -> list[str | None]:
    cluster = shipped(group(scheduler=scheduler), node("n1", cpu=100, mem=102400), *entries)
    return [made.workload for made in cede.plan(cluster).decisions]


def test_085_higher_bands_come_first() -> None:
    given = fact("085")["given"]
    queue = [pending(f"p{number}", cpu=1, priority=number) for number in given["priorities"]]

    assert order(given["scheduler"], *queue) == [f"p{number}" for number in fact("085")["expect"]["order"]]


@pytest.mark.parametrize("number", ["086", "087"])
def test_086_087_arrival_inside_a_band(number: str) -> None:
    given = fact(number)["given"]
    queue = [pending(one["id"], cpu=1, priority=one["priority"], submitted=at) for at, one in enumerate(given["queue"])]

    assert order(given["scheduler"], *queue) == fact(number)["expect"]["order"]


def test_089_the_smaller_dominant_share_comes_first() -> None:
    given, expect = fact("089")["given"], fact("089")["expect"]
    used = [running(f"x-{user}", user=user, **amounts) for user, amounts in given["users"].items()]
    queue = [pending(user, cpu=1, user=user, submitted=at) for at, user in enumerate(given["queue"])]
    cluster = shipped(group(scheduler="drf"), node("n1", **given["capacity"]), *used, *queue)

    result = cede.plan(cluster, shares=True).to_dict()

    assert [made["workload"] for made in result["decisions"]] == expect["order"]
    assert {user: result["workloads"][user]["dominant_share"] for user in given["queue"]} == expect["shares"]


def test_093_without_factors_everyone_is_last_alike() -> None:
    assert fact("093")["expect"]["order"][-1] == "unknown"
    assert order("fair-share", pending("b", cpu=1, submitted=-1), pending("a", cpu=1)) == ["b", "a"]


# -- blocking --------------------------------------------------------------------------------------------------------


def test_097_in_a_group_without_agents_nobody_is_skipped() -> None:
    queue = [pending(name, cpu=1) for name in fact("097")["given"]["queue"]]
    made = cede.plan(shipped(group("empty"), node("n1", cpu=4), *queue)).decisions

    assert {one.workload: one.rule for one in made} == dict.fromkeys(
        fact("097")["expect"]["failed"], "backendai.empty-group"
    )


def test_100_someone_over_quota_does_not_block() -> None:
    over, fit = fact("100")["given"]["queue"]
    limited = group("a", partition="default", max={"cpu": over["user_quota_cpu"]})
    cluster = shipped(limited, group("b", partition="default"), node("n1", cpu=4),
                      pending("over", cpu=over["cpu"], priority=over["priority"], queue="a"),
                      pending("fit", cpu=1, priority=fit["priority"], queue="b"))  # fmt: skip

    assert actions(cluster) == {"over": "refuse", "fit": "start"}


# -- settings --------------------------------------------------------------------------------------------------------


def test_104_defaults_of_the_group() -> None:
    expect = fact("104")["expect"]

    assert DEFAULTS[SHIPPED] | {"scheduler": None, "agent_selection_strategy": None} == {
        "enabled": expect["enabled"],
        "preemptible_priority": expect["preemptible_priority"],
        "preemption_order": expect["order"],
        "preemption_mode": expect["mode"],
        "preemption_min_runtime": expect["preemption_min_runtime_s"],
        "victim_scope": expect["victim_scope"],
        "scheduler": None,
        "agent_selection_strategy": None,
    }


def is_valid(*entries: Entry, edition: str = "bep-1014") -> bool:
    try:
        cede.load(document_of(*entries, edition=edition))
    except cede.InputError:
        return False
    return True


def test_111_a_threshold_of_ten_is_valid() -> None:
    assert is_valid(group(**fact("111")["given"]), edition="26.8") is fact("111")["expect"]["valid"]


@pytest.mark.parametrize("key", ["order", "mode"])
def test_114_unknown_words_are_refused(key: str) -> None:
    word = fact("114")["given"][key]

    assert is_valid(group(**{f"preemption_{key}": word})) is fact("114")["expect"]["valid"]


# -- priorities ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["115", "116", "117", "118", "119", "120"])
def test_115_to_120_caps_of_the_priority(number: str) -> None:
    given = fact(number)["given"]
    cap = given.get("max_priority")
    policies = [] if cap is None else [policy(user="ann", max_priority=cap)]
    claimant = pending("in", cpu=1, user="ann", priority=given["priority"], job_priority=given.get("job_priority", 0))

    made = decided(shipped(*policies, node("n1", cpu=4), claimant), "in")

    assert (made.action != "refuse") is fact(number)["expect"]["accepted"]
    assert made.action != "refuse" or (str(cap) in made.why and str(given["priority"]) in made.why)


def test_121_a_cap_lies_in_0_to_100() -> None:
    for cap, valid in zip(fact("121")["given"]["max_priority"], fact("121")["expect"]["valid"], strict=True):
        assert is_valid(policy(user="ann", max_priority=cap)) is valid


def test_122_a_priority_lies_in_0_to_100() -> None:
    for number, valid in zip(fact("122")["given"]["priority"], fact("122")["expect"]["valid"], strict=True):
        assert is_valid(node("n1", cpu=1), pending("in", cpu=1, priority=number)) is valid


def test_a_victim_on_its_way_out_still_holds_its_room() -> None:
    """Fact 073: its containers still run."""
    cluster = shipped(node("n1", cpu=4), preempting("x", cpu=4), pending("in", cpu=4))

    assert actions(cluster) == {"in": "wait"}
