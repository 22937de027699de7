"""Which nodes a workload may use, in both editions, and how members are placed on them."""

from collections.abc import Callable

import pytest

import cede
from tests.builders import Entry, actions, cluster_of, decided, group, node, pending, running, verdicts

EDITIONS = ("bep-1014", "26.8")
pytestmark = pytest.mark.parametrize("edition", EDITIONS)

PREEMPTS = {"bep-1014": group("rg", partition="default"), "26.8": group("rg", partition="default", enabled=True)}
IN = {"priority": 9, "job_priority": 9}


def low(name: str, *on: str, **values: object) -> Entry:
    """Running work that the claimant `in` may preempt in either edition."""
    return running(name, on or None, priority=1, started=-60, **values)


# -- nodes that may not be used --------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["cordoned", "down"])
def test_a_node_that_is_not_ready_takes_nobody_and_its_work_is_let_alone(edition: str, state: str) -> None:
    cluster = cluster_of(PREEMPTS[edition], node("n1", cpu=4, state=state), node("n2", cpu=4), low("x", "n1", cpu=4),
                         low("y", "n2", cpu=4), pending("in", cpu=4, **IN), edition=edition)  # fmt: skip

    made = decided(cluster, "in", explain=True)

    assert {victim.workload for victim in made.victims} == {"y"}
    assert verdicts(made)["x"] == ("not-eligible", "usable-nodes")


@pytest.mark.parametrize("state", ["cordoned", "down"])
def test_a_node_that_is_not_ready_still_tells_waiting_from_refusing(edition: str, state: str) -> None:
    cluster = cluster_of(node("n1", cpu=8, state=state), node("n2", cpu=2), pending("in", cpu=8),
                         pending("huge", cpu=9), edition=edition)  # fmt: skip

    assert decided(cluster, "in").action == "wait"
    assert decided(cluster, "huge", only="huge").action == "refuse"


def test_a_node_held_for_a_workload_takes_only_that(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=4, reserved_for="mine"), node("n2", cpu=2),
                         pending("other", cpu=4, submitted=-9), pending("mine", cpu=4), edition=edition)  # fmt: skip

    assert decided(cluster, "mine", only="mine").nodes == ("n1",)
    assert decided(cluster, "other", only="other").action == "wait"


def test_what_others_occupy_is_not_free(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=4, occupied={"cpu": 1}), pending("in", cpu=3), pending("more", cpu=1),
                         edition=edition)  # fmt: skip

    assert actions(cluster) == {"in": "start", "more": "wait"}


def test_a_workload_stays_in_its_partition(edition: str) -> None:
    cluster = cluster_of(group("red"), group("blue"), node("r1", cpu=1, partition="red"),
                         node("b1", cpu=9, partition="blue"), pending("in", cpu=1, queue="red"),
                         pending("large", cpu=4, queue="red"), edition=edition)  # fmt: skip

    assert decided(cluster, "in", only="in").nodes == ("r1",)
    assert decided(cluster, "large", only="large").action == "refuse"


def test_work_without_a_queue_is_in_the_default_partition(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=1), node("b1", cpu=9, partition="blue"), pending("in", cpu=1), edition=edition)

    assert decided(cluster, "in").nodes == ("n1",)


# -- nodes that are asked for ----------------------------------------------------------------------------------------

NODES = (
    node("n1", cpu=4, labels={"arch": "x86"}),
    node("n2", cpu=4, labels={"arch": "arm", "gpu": "no"}, flavor="spot"),
    node("n3", cpu=4, labels={"arch": "arm"}),
)


@pytest.mark.parametrize(
    ("asked", "nodes"),
    [
        ({"cpu": 1, "required_node": "n3"}, ("n3",)),
        ({"cpu": 1, "constraints": {"labels": {"arch": "arm", "gpu": "no"}}}, ("n2",)),
        ({"cpu": 1, "constraints": {"nodes": ["n3"]}}, ("n3",)),
        ({"cpu": 1, "constraints": {"labels": {"arch": "arm"}, "nodes": ["n1", "n3"]}}, ("n3",)),
        ({"cpu@spot": 1}, ("n2",)),
        ({"cpu": 1, "constraints": {"nodes": []}}, ("n1",)),
    ],
)
def test_a_workload_stands_where_it_asks_to(edition: str, asked: dict[str, object], nodes: tuple[str, ...]) -> None:
    made = decided(cluster_of(*NODES, pending("in", **asked), edition=edition), "in")

    assert (made.action, made.nodes) == ("start", nodes)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"cpu": 1, "constraints": {"labels": {"arch": "mips"}}}, "no node of its group has label arch=mips"),
        ({"cpu@fast": 1}, "no node of its group has flavor fast"),
        ({"cpu": 1, "constraints": {"labels": {"arch": "x86"}, "nodes": ["n2", "n3"]}},
         "no node of its group has label arch=x86 and a name among n2, n3"),
        ({"cpu": 1, "required_node": "n1", "constraints": {"labels": {"arch": "arm"}}},
         "no node of its group has label arch=arm and the name n1"),
    ],
)  # fmt: skip
def test_what_no_node_can_offer_is_refused(edition: str, asked: dict[str, object], why: str) -> None:
    made = decided(cluster_of(*NODES, pending("in", **asked), edition=edition), "in")

    assert (made.action, made.why) == ("refuse", why)


def test_a_start_names_the_flavor_it_takes(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=4, gpu=1, flavor="spot"), pending("in", cpu=1, gpu=1), edition=edition)

    assert decided(cluster, "in").flavors == {"cpu": "spot", "gpu": "spot"}


def test_victims_stand_where_the_claimant_asks_to_be(edition: str) -> None:
    cluster = cluster_of(PREEMPTS[edition], *NODES, low("a", "n1", cpu=4), low("b", "n2", cpu=4), low("c", "n3", cpu=4),
                         pending("in", cpu=4, required_node="n3", **IN), edition=edition)  # fmt: skip

    assert cede.plan(cluster).victims == {"c"}


# -- whole nodes -----------------------------------------------------------------------------------------------------


def test_an_exclusive_member_takes_a_node_to_itself(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=8), node("n2", cpu=8), running("x", "n1", cpu=1),
                         pending("in", cpu=1, exclusive=True, submitted=-9), pending("next", cpu=1, submitted=-8),
                         edition=edition)  # fmt: skip

    assert (decided(cluster, "in").nodes, decided(cluster, "next").nodes) == (("n2",), ("n1",))


def test_members_that_are_exclusive_do_not_share(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=8), pending("in", cpu=1, members=2, exclusive=True), edition=edition)

    assert decided(cluster, "in").action == "refuse"


def test_for_an_exclusive_claimant_everyone_on_a_node_goes(edition: str) -> None:
    cluster = cluster_of(PREEMPTS[edition], node("n1", cpu=8), low("x", cpu=1), low("y", cpu=1),
                         pending("in", cpu=1, exclusive=True, **IN), edition=edition)  # fmt: skip

    made = decided(cluster, "in")

    assert {victim.workload for victim in made.victims} == {"x", "y"}
    assert made.why.startswith("on n1: a whole node asked, others are on it;")


def test_an_exclusive_resident_leaves_no_room(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=8), running("x", cpu=1, exclusive=True), pending("in", cpu=1), edition=edition)

    assert "another has the whole node" in decided(cluster, "in").why


# -- placement over the topology -------------------------------------------------------------------------------------

ZONES = tuple(node(f"{zone}{number}", cpu=4, labels={"group": zone}) for zone in ("g1", "g2") for number in (1, 2))


@pytest.mark.parametrize(
    ("placement", "members", "holds"),
    [
        ("tight", 2, lambda zones: len(set(zones)) == 1),
        ("spread", 4, lambda zones: sorted(zones) == ["g1", "g1", "g2", "g2"]),
        ("spread", 3, lambda zones: max(map(zones.count, zones)) == 2),
        ("any", 4, lambda zones: len(zones) == 4),
    ],
)
def test_members_are_placed_as_asked(
    edition: str, placement: str, members: int, holds: Callable[[list[str]], bool]
) -> None:
    cluster = cluster_of(*ZONES, pending("in", cpu=2, members=members, placement=placement), edition=edition)

    assert holds([name[:2] for name in decided(cluster, "in").nodes])


@pytest.mark.parametrize(
    ("placement", "members", "action"), [("tight", 3, "refuse"), ("tight", 2, "start"), ("spread", 4, "start")]
)
def test_a_placement_may_be_what_does_not_fit(edition: str, placement: str, members: int, action: str) -> None:
    cluster = cluster_of(*ZONES, pending("in", cpu=4, members=members, placement=placement), edition=edition)

    assert decided(cluster, "in").action == action


def test_victims_make_room_for_the_placement(edition: str) -> None:
    cluster = cluster_of(PREEMPTS[edition], *ZONES, low("a", "g11", cpu=4), low("b", "g21", cpu=4, job_priority=1),
                         pending("in", cpu=4, members=2, placement="tight", **IN), edition=edition)  # fmt: skip

    made = decided(cluster, "in")

    assert ({victim.workload for victim in made.victims}, set(made.nodes)) == ({"a"}, {"g11", "g12"})


def test_spread_counts_the_groups_the_claimant_may_use(edition: str) -> None:
    cluster = cluster_of(*ZONES, pending("in", cpu=1, members=2, placement="spread",
                                         constraints={"nodes": ["g11", "g12"]}), edition=edition)  # fmt: skip

    assert decided(cluster, "in").action == "start"


def test_another_label_may_be_the_topology(edition: str) -> None:
    nodes = (node("n1", cpu=4, labels={"rack": "r1"}), node("n2", cpu=4, labels={"rack": "r2"}))
    cluster = cluster_of(*nodes, pending("in", cpu=4, members=2, placement="tight"), edition=edition, topology="rack")

    assert decided(cluster, "in").action == "refuse"


# -- members of different size ---------------------------------------------------------------------------------------


def parts(*sizes: int) -> list[dict[str, object]]:
    return [{"name": f"p{number}", "count": 1, "requests": {"cpu": size}} for number, size in enumerate(sizes)]


def test_members_of_different_size_have_their_nodes_in_the_order_of_the_parts(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=2), node("n2", cpu=4), pending("in", pod_sets=parts(4, 2)), edition=edition)

    assert decided(cluster, "in").nodes == ("n2", "n1")


def test_members_of_different_size_need_room_together(edition: str) -> None:
    cluster = cluster_of(node("n1", cpu=4), pending("in", pod_sets=parts(3, 2)), edition=edition)

    assert decided(cluster, "in").action == "refuse"
    assert decided(cluster, "in").why.endswith("no way was found to fit 2 members of different size together")


def test_a_packing_that_the_best_fit_misses_is_found(edition: str) -> None:
    """4+3 and 3+2 fill 7 and 5; the 4 on the node where least is left over would leave no room for the last."""
    cluster = cluster_of(node("n1", cpu=7), node("n2", cpu=5), pending("in", pod_sets=parts(4, 3, 3, 2)),
                         edition=edition)  # fmt: skip

    made = decided(cluster, "in")

    assert made.action == "start"
    assert sum(size for size, name in zip((4, 3, 3, 2), made.nodes, strict=True) if name == "n1") == 7
