"""Facts about quota preemption: how much, how it is split, in what order candidates go, and when."""

import cede
from cede.doctrines.yunikorn.quota_preemption import (
    Held,
    Scales,
    Timer,
    advanced,
    cut_of,
    exceeds,
    fires,
    in_order,
    leaf_of,
    shares_of,
)
from cede.engine.cluster import Cluster
from cede.engine.verify import verify
from cede.model.times import SECOND
from cede.state.units import COARSEST
from tests.unit.yunikorn.fact_files import (
    NOW,
    Fact,
    allocation_entries,
    expected,
    facts,
    load,
    named,
    queue_entries,
    tree_of,
    used_entries,
)

ON = {"preemption.quotapreemptionenabled": True}
DUE = {"over_limit_since": NOW - 60, "settings": {"quota.preemption.delay": "60s"}}
"""A queue that was above its max for exactly as long as it may."""


def scales_of(cluster: Cluster) -> Scales:
    return Scales(*tree_of(cluster))


def whole(scales: Scales, amounts: dict[int, int]) -> Fact | None:
    """Amounts as a fact states them; nothing is None."""
    return named(scales.state, {column: amount // COARSEST for column, amount in amounts.items()}) or None


# -- how much --------------------------------------------------------------------------------------------------------


@facts("quota-amount")
def test_what_a_queue_has_to_give_back(fact: Fact) -> None:
    scales = scales_of(load(queue_entries(fact), used_entries(fact)))

    cut = cut_of(scales, scales.queues.names.index(fact["queue"]))

    assert whole(scales, cut.amount) == fact["expect"]["preemptable"]


@facts("quota-distribute")
def test_the_split_over_the_leaves(fact: Fact) -> None:
    scales = scales_of(load(queue_entries(fact), used_entries(fact)))
    units = scales.state.units
    amount = {units.index[kind]: much * COARSEST for kind, much in fact["preemptable"].items() if kind in units.index}

    shares = shares_of(scales, scales.queues.names.index(fact["queue"]), amount)

    assert {scales.queues.names[leaf]: whole(scales, share) for leaf, share in shares.items()} == fact["expect"][
        "shares"
    ]


# -- who -------------------------------------------------------------------------------------------------------------


@facts("quota-filter")
def test_who_is_a_candidate(fact: Fact) -> None:
    nodes = [{"name": name, "capacity": {"first": 100}} for name in ("node", "node2")]
    scales = scales_of(load([{"name": "leaf"}], allocation_entries(fact, "leaf"), nodes))
    index = scales.state.units.index
    share = {index[kind]: much * COARSEST for kind, much in (fact["preemptable"] or {}).items()}

    assert len(leaf_of(scales, scales.queues.names.index("leaf"), share).rows) == fact["expect"]["count"]


@facts("sort-by-ask")
def test_the_turn_of_candidates(fact: Fact) -> None:
    keys = [work["key"] for work in fact["allocations"]]
    held = [Held(work["resource"], work["priority"]) for work in fact["allocations"]]

    turn = in_order(held, fact["ask_resource"], fact["total"], lambda _: 1)

    assert [keys[at] for at in turn] == fact["expect"]["order"]


def due(fact: Fact, queue: str) -> Cluster:
    nodes = [{"name": "node", "capacity": {"first": 1000, "second": 1000}}]
    return load(queue_entries(fact, **{queue: DUE}), allocation_entries(fact), nodes, **ON)


@facts("quota-leaf")
def test_who_goes_in_a_leaf(fact: Fact) -> None:
    cluster, result = due(fact, "leaf"), expected(fact)

    made = cede.plan(cluster, explain=True)

    assert verify(cluster, made) == []
    [decision] = made.decisions
    assert decision.workload is None
    assert {victim.workload for victim in decision.victims} == set(result["victims"])
    looked = [found for found in decision.candidates or () if found.verdict in ("victim", "not-needed")]
    assert len(looked) == result.get("selected", len(fact["allocations"]))
    cut = cut_of(scales := scales_of(cluster), 0)
    assert "preemptable" not in result or whole(scales, cut.amount) == result["preemptable"]
    assert "claimed" not in result or claimed(fact, result["victims"]) == result["claimed"]


@facts("quota-parent")
def test_who_goes_below_a_parent(fact: Fact) -> None:
    cluster, result = due(fact, fact["queue"]), expected(fact)

    made = cede.plan(cluster)

    assert verify(cluster, made) == []
    assert made.victims == set(result["victims"])
    assert claimed(fact, sorted(made.victims)) == result["claimed"]


def claimed(fact: Fact, victims: list[str]) -> Fact:
    sizes = {work["key"]: work["resource"]["first"] for work in fact["allocations"]}
    return {"first": sum(sizes[victim] for victim in victims)}


# -- when ------------------------------------------------------------------------------------------------------------


@facts("quota-timer")
def test_when_a_queue_is_cut_back(fact: Fact) -> None:
    state, now = fact["state"], NOW * SECOND
    used = state["allocated"] or {}
    if "acquired" in fact["expect"]:
        start = None if state["start_in_s"] is None else now + state["start_in_s"] * SECOND
        assert fires(Timer(state["max"], SECOND, start), used, now) is fact["expect"]["acquired"]
        return
    start = now - 5 * SECOND if state["start_set"] else None
    before = Timer(state["old_max"], state["old_delay"] * SECOND, start, exceeds(state["old_max"], used))

    after = advanced(before, state["max"], state["delay"] * SECOND, used, now)

    assert (after.start != start) is fact["expect"]["start_time_changes"]
