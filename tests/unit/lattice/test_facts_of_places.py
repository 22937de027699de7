"""Facts about who gets which nodes: placement, backfill, lending."""

from __future__ import annotations

from typing import Any

import pytest

import cede
from cede.doctrines.lattice.lending import claim_within
from cede.doctrines.lattice.reservation import natural_ends, reservation_of
from cede.doctrines.parts.cost import HOUR
from tests.builders import Entry, actions, decided
from tests.unit.lattice.fact_files import Fact, fact, facts_of, named
from tests.unit.lattice.small import core, node, nodes, policy, vcluster, wants, whole

KINDS = ("placement", "backfill", "borrow")
A = vcluster("a", "hpc_batch")
BOTH = pytest.mark.parametrize("edition", [policy, core], ids=["policy", "core"])


def labelled(one: Fact) -> list[Entry]:
    """The nodes of a fact with their labels; without names they are numbered."""
    entries = one["given"].get("nodes") or [{}] * one["given"]["free_nodes"]
    return [
        node(entry.get("id", f"n{at}"), **{key: f"{entry[key]}" for key in ("fingerprint", "group") if key in entry})
        for at, entry in enumerate(entries)
    ]


def waiting(one: Fact) -> list[Entry]:
    """Who waits; what comes first in the fact came first."""
    found = []
    for at, job in enumerate(one["given"]["pending"]):
        more: dict[str, Any] = {"priority": job.get("class", 5), "sensitive": job.get("sensitive", False)}
        more |= {"walltime": f"{job['walltime_h']}h"} if job.get("walltime_h") else {}
        found.append(wants(job["name"], job["nodes"], submitted=at - 90, **more))
    return found


def busy(one: Fact) -> list[Entry]:
    """Work of the highest class on nodes of its own that ends when the fact says that nodes are released."""
    found: list[Entry] = []
    for at, release in enumerate(one["given"].get("releases", [])):
        names = [f"r{at}-{number}" for number in range(release["nodes"])]
        times = {"started": -3600, "walltime": f"{release['in_h'] + 1}h"}
        found += [*map(node, names), whole(f"run{at}", " ".join(names), priority=9, **times)]
    return found


def planned(one: Fact, edition: Any, kind: str = "hpc_batch", **settings: Any) -> dict[str | None, str]:
    return actions(edition(vcluster("a", kind), *labelled(one), *busy(one), *waiting(one), **settings))


def split(made: dict[str | None, str]) -> tuple[list[str | None], list[str | None]]:
    """Who starts, and who waits."""
    return [name for name in made if made[name] == "start"], [name for name in made if made[name] == "wait"]


# -- placement ---------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("number", ["lattice-106", "lattice-110", "lattice-117", "lattice-132"])
def test_so_many_start_and_so_many_wait(number: str, edition: Any) -> None:
    expect = fact(number)["expect"]
    placed, deferred = split(planned(fact(number), edition))

    assert len(placed) == expect.get("placed_count", 0)
    assert len(deferred) == expect.get("deferred_count", 0)


def test_the_library_prefers_the_largest_set_of_identical_nodes() -> None:
    one = fact("lattice-130")
    made = decided(core(A, *labelled(one), *waiting(one)), "a")

    assert set(made.nodes) <= set(one["expect"]["placed_from"])


@BOTH
@pytest.mark.parametrize("placement", ["any", "tight"])
def test_a_gang_that_fits_one_group_stands_in_one(edition: Any, placement: str) -> None:
    one = fact("lattice-131")
    gang = wants("a", one["given"]["pending"][0]["nodes"], placement=placement)
    made = decided(edition(A, *labelled(one), gang, topology="group"), "a")

    assert len({name[:2] for name in made.nodes}) == one["expect"]["group_span"]


def test_sensitive_work_stands_on_nodes_of_one_fingerprint() -> None:
    one = fact("lattice-133")
    made = decided(core(vcluster("a", "sensitive"), *labelled(one), *waiting(one)), "s")
    prints = {entry.values["name"]: entry.values["labels"]["fingerprint"] for entry in labelled(one)}

    assert {prints[name] for name in made.nodes} == {one["expect"]["all_same_fingerprint"]}


def test_sensitive_work_larger_than_any_set_of_identical_nodes_waits() -> None:
    one = fact("lattice-134")

    assert split(planned(one, core, "sensitive")) == (one["expect"]["placed"], one["expect"]["deferred"])


# -- backfill ----------------------------------------------------------------------------------------------------------


def test_the_library_lets_an_endless_small_one_pass_and_the_policy_does_not() -> None:
    one = fact("lattice-114")

    assert split(planned(one, core)) == (one["expect"]["placed"], one["expect"]["deferred"])
    made = decided(policy(A, *labelled(one), *busy(one), *waiting(one)), "service")
    assert (made.action, made.rule) == ("wait", "lattice.reservation")


@BOTH
@pytest.mark.parametrize("number", ["lattice-115", "lattice-116"])
def test_nobody_is_backfilled_who_does_not_fit(number: str, edition: Any) -> None:
    placed, deferred = split(planned(fact(number), edition))

    assert (placed, deferred) == ([], fact(number)["expect"]["deferred"])


RESERVED = (
    *nodes("z0 z1 z2 z3 z4 z5 z6 z7", zone="z"),
    *nodes("n0 n1 n2"),
    A,
    whole("run", "z7", priority=9, started=-3600, walltime="3h"),
    wants("head", 8, priority=8, constraints={"labels": {"zone": "z"}}),
)
"""Ten nodes are free, and in two hours eight of the eleven are kept for the head."""


@pytest.mark.parametrize(
    ("members", "walltime", "starts"), [(2, "1h", True), (4, "1h", True), (4, "2h", True), (4, "3h", False)]
)
def test_who_ends_before_the_reservation_may_run_before_it(members: int, walltime: str, starts: bool) -> None:
    """Facts 118 and 121; who takes only nodes beside the reservation may run as long as it likes."""
    short, safe = fact("lattice-118"), fact("lattice-121")
    made = cede.plan(policy(*RESERVED, wants("in", members, priority=1, walltime=walltime)))

    head, inside = made.of("head"), made.of("in")
    assert head is not None
    assert inside is not None
    assert (head.action, inside.action == "start") == ("wait", starts)
    assert short["expect"]["backfilled"] is True
    assert safe["expect"]["safe"] is False
    if starts:
        assert len(set(inside.nodes) & {f"z{at}" for at in range(7)}) >= members - 3


def test_who_takes_what_is_left_beside_the_reservation_may_be_endless() -> None:
    assert set(decided(policy(*RESERVED, wants("in", 3, priority=1)), "in").nodes) == {"n0", "n1", "n2"}


def test_the_earliest_start_is_when_enough_is_released() -> None:
    one = fact("lattice-123")
    given = {**one["given"], "free_nodes": one["given"]["free_now"]}
    entries = [*labelled({"given": given}), *busy(one), wants("in", given["needed"])]
    state = policy(A, *entries).state

    found = reservation_of(state, claim_within(state, state.work_index["in"]))
    assert found is not None
    assert found.at == one["expect"]["earliest_in_h"] * HOUR


@pytest.mark.parametrize("number", ["lattice-126", "lattice-127", "lattice-128"])
def test_ends_that_nobody_counts_on(number: str) -> None:
    one = fact(number)
    entries: list[Entry] = []
    for at, job in enumerate(one["given"]["running"]):
        names = [f"n{at}-{number}" for number in range(job["nodes"])]
        times: dict[str, Any] = {"started": -3600 * job["started_h_ago"]}
        times |= {"walltime": f"{job['walltime_h']}h"} if job["walltime_h"] is not None else {}
        entries += [*map(node, names), whole(f"run{at}", " ".join(names), **times)]

    found, rows = natural_ends(policy(A, *entries).state, one["given"]["look_ahead_h"] * HOUR)

    assert len(found) == len(rows) == one["expect"]["events"]


# -- lending -----------------------------------------------------------------------------------------------------------


def borrowing(given: Fact, lender: str = "hpc_batch") -> cede.Decision:
    """One of `b` asks for nodes, and only `a` has some: so many are idle, the others busy."""
    settings = {key: given["config"][key] for key in ("allow_lending",) if "config" in given}
    wish = {"allow_borrowing": given["config"]["allow_borrowing"]} if "config" in given else {}
    idle, all_ = given["idle"], given["dedicated"]
    names = [f"n{at}" for at in range(all_)]
    held = [whole(f"busy{at}", names[at], queue="a", priority=9) for at in range(idle, all_)]
    entries = [
        vcluster("a", lender, **settings),
        vcluster("b", "service", **wish),
        *(node(name, "a") for name in names),
    ]
    return decided(policy(*entries, *held, wants("in", given["request"], queue="b")), "in")


@pytest.mark.parametrize("one", [one for one in facts_of("borrow") if "config" in one["given"]], ids=named)
def test_idle_nodes_are_lent_as_the_fact_says(one: Fact) -> None:
    made, expect = borrowing(one["given"]), one["expect"]

    assert (made.action == "start") is expect["approved"]
    assert len(set(made.nodes)) == expect.get("nodes", 0)
    if "reason_contains" in expect:
        assert made.rule == "lattice.not-lent"


def test_nodes_of_a_sensitive_vcluster_are_never_lent() -> None:
    one = fact("lattice-148")
    count = one["given"]["claimed_sensitive_nodes"]
    made = borrowing({"idle": count, "dedicated": count, "request": 1}, "sensitive")

    assert (made.action, made.rule) == ("wait", "lattice.not-lent")
    assert one["expect"]["approved"] is False


def test_every_fact_about_places_is_one_of_these() -> None:
    tested = {"lattice-106", "lattice-110", "lattice-132", *(f"lattice-{number}" for number in (130, 131, 133, 134))}
    assert {one["id"] for one in facts_of("placement")} == tested
    tested = {f"lattice-{number}" for number in (114, 115, 116, 117, 118, 121, 123, 126, 127, 128)}
    assert {one["id"] for one in facts_of("backfill")} == tested
    assert {one["id"] for one in facts_of("borrow")} == {f"lattice-{number}" for number in (136, 141, 142, 143, 148)}
