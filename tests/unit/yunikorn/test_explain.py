"""What an explanation shows: every candidate with its sentence, the fence, the path before and after, the leaves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.yunikorn.rules import RULES
from tests.builders import asking, decided, laws, node, path, release
from tests.unit.cli.calls import called
from tests.unit.yunikorn.claims import IN, A, B, work

ROOT = Path(__file__).parents[3]
VECTORS = sorted((ROOT / "tests" / "vectors" / "yunikorn").glob("*.json"))
FENCES, LAW_2 = (ROOT / "examples" / "yunikorn" / name for name in ("fences.yaml", "law-2.yaml"))
IDS = {rule.id: rule for rule in RULES}
HOLDS = ("reserved", "running", "checkpointing", "preempting")
TAKES = {"yunikorn.over-guarantee", "yunikorn.law-1", "yunikorn.required-node", "yunikorn.quota"}
SHORT = {"yunikorn.fits", "yunikorn.limit", "yunikorn.no-usable-node", "yunikorn.required-node-headroom"}
"""Rules of decisions before anybody is looked at."""

# -- over all vectors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_every_sentence_is_filled_in_and_every_rule_is_of_the_edition(path: Path) -> None:
    """The first that searches is told of everybody who holds room."""
    document = json.loads(path.read_text(encoding="utf-8"))["cluster"]
    plan = cede.plan(cede.load(document), explain=True)

    for made in plan.decisions:
        assert made.candidates is not None
        said = [(made.rule, made.why), *((one.rule, one.why) for one in made.candidates)]
        said += [(one.rule, one.why) for one in made.warnings]
        said += [(one.rule, one.why) for one in made.nearest_miss if one.rule is not None]
        for rule, text in said:
            assert text
            assert not set("‹›{}") & set(text)
            assert plan.edition in (IDS[rule].editions or ("laws", "1.9")), rule
        taken = {one.workload: one.rule for one in made.candidates if one.verdict == "victim"}
        assert taken.keys() == {victim.workload for victim in made.victims}
        assert set(taken.values()) <= TAKES
    here = sorted(one["name"] for one in document["workloads"] if one.get("state") in HOLDS)
    searching = [made for made in plan.decisions if made.action in ("wait", "preempt") and made.rule not in SHORT]
    for made in searching[:1]:
        assert made.workload is None or [one.workload for one in made.candidates or ()] == here


# -- the account -----------------------------------------------------------------------------------------------------


def account(cluster: cede.Cluster, claimant: str = "in") -> dict[str, Any]:
    found = decided(cluster, claimant, explain=True).account
    assert found is not None
    return found


def test_the_fence_is_named() -> None:
    tree = (path("root.t", policy="fence"), path("root.t.a", cpu=4), B)
    claimant = asking("in", "root.t.a", cpu=2)

    for edition in (laws, release):
        assert account(edition(node("n1", cpu=2), *tree, work("old", "root.b"), claimant))["fence"] == "root.t"
        assert account(edition(node("n1", cpu=2), A, B, work("old", "root.b"), IN))["fence"] == "root"


def test_the_queue_whose_max_is_short_is_the_fence_of_the_release() -> None:
    tree = (path("root.t", max={"cpu": 2}), path("root.t.a", cpu=2), path("root.t.b"))
    entries = (node("n1", cpu=9), *tree, work("old", "root.t.b"), asking("in", "root.t.a", cpu=2))

    assert account(release(*entries))["fence"] == "root.t"
    assert account(laws(*entries))["fence"] == "root"


@pytest.mark.parametrize("edition", [laws, release])
def test_the_path_shows_what_remains_of_each_guarantee_before_and_after(edition: Any) -> None:
    tree = (path("root.p", cpu=6), path("root.p.a", cpu=4), path("root.p.b"))
    works = (work("mine", "root.p.a", cpu=1), work("old", "root.p.b", cpu=3))
    found = account(edition(node("n1", cpu=4), *tree, *works, asking("in", "root.p.a", cpu=3)))

    assert found["path"] == [
        {"queue": "root.p.a", "guaranteed": "4 cpu", "remaining": "3 cpu", "remaining after": "0 cpu"},
        {"queue": "root.p", "guaranteed": "6 cpu", "remaining": "2 cpu", "remaining after": "2 cpu"},
        {"queue": "root", "guaranteed": "none", "remaining": "none", "remaining after": "none"},
    ]


def test_who_waits_has_no_after() -> None:
    found = account(laws(node("n1", cpu=2), A, path("root.b", cpu=2), work("old", "root.b"), IN))

    assert [list(level) for level in found["path"]] == [["queue", "guaranteed", "remaining"]] * 2


@pytest.mark.parametrize("edition", [laws, release])
def test_claimants_that_are_alike_have_an_account_each(edition: Any) -> None:
    twins = [asking(name, "root.a", cpu=2) for name in ("in", "too")]
    cluster = edition(node("n1", cpu=2), A, path("root.b", cpu=2), work("old", "root.b"), *twins)

    assert account(cluster) == account(cluster, "too")


def test_every_leaf_is_open_or_says_by_which_rule_it_is_not() -> None:
    queues = (A, B, path("root.c", cpu=2), path("root.d", policy="disabled"), path("root.e", cpu=1))
    works = [work(name, f"root.{name}") for name in "abcde"]
    claimant = asking("in", "root.a", cpu=2)

    found = {one["queue"]: (one["open"], one["rule"]) for one in account(laws(
        node("n1", cpu=10), *queues, *works, claimant))["leaves"]}  # fmt: skip
    assert found == {
        "root.a": (False, "yunikorn.inter-queue"),
        "root.b": (True, ""),
        "root.c": (False, "yunikorn.law-5"),
        "root.d": (False, "yunikorn.disabled"),
        "root.e": (True, ""),
    }
    found = {one["queue"]: (one["open"], one["why"]) for one in account(release(
        node("n1", cpu=10), *queues, *works, claimant))["leaves"]}  # fmt: skip
    assert found == {
        "root.a": (False, "holds 2 cpu, remaining guarantee 2 cpu"),
        "root.b": (True, "holds 2 cpu, remaining guarantee none"),
        "root.c": (False, "holds 2 cpu, remaining guarantee 0 cpu"),
        "root.d": (False, "holds 2 cpu, remaining guarantee none"),
        "root.e": (True, "holds 2 cpu, remaining guarantee -1 cpu"),
    }


def test_only_an_explanation_has_an_account() -> None:
    cluster = laws(node("n1", cpu=2), A, B, work("old", "root.b"), IN)

    assert decided(cluster, "in").account is None
    assert "account" not in decided(cluster, "in").to_dict()
    assert json.loads(json.dumps(decided(cluster, "in", explain=True).to_dict()))["account"]["fence"] == "root"


# -- printed ---------------------------------------------------------------------------------------------------------


def test_the_account_is_printed_below_the_candidates(capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "plan", FENCES, "--for", "b-in", "--explain")
    lines = [line.split() for line in ran.out.splitlines()]

    assert ["fence", "root.tenant-1"] in lines
    assert ["root.tenant-1.queue-b", "3", "vcore", "1", "vcore", "-1", "vcore"] in lines
    assert ["root.tenant-1.queue-c", "yes"] in [line[:2] for line in lines]
    assert ran.out.index("Looked at for b-in") < ran.out.index("fence root.tenant-1")


def test_what_breaks_a_law_is_printed_as_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    ran = called(capsys, "plan", LAW_2)

    assert "the design leaves no queue below its guarantee; root.test ends" in ran.out
    assert "[yunikorn.breaks-law-2]" in ran.out
    lawful = called(capsys, "plan", LAW_2, "--doctrine", "yunikorn/laws")
    assert "test-2 (requeued)" in lawful.out
    assert "warning" not in lawful.out
