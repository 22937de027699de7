"""What `cede plan` prints."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import cede
from cede.cli.plan_view import MOST_DECISIONS, evicted, missed, print_plan, shown_decisions, summary
from cede.model.plan import Decision, Miss, Plan, Victim, Warning
from tests.unit.cli.calls import EXAMPLES, called

Capture = pytest.CaptureFixture[str]

THRESHOLD = EXAMPLES / "threshold.yaml"


def made(*decisions: Decision) -> Plan:
    return Plan("backendai", "bep-1014", 0, decisions)


def wait(name: str, *missed: Miss) -> Decision:
    return Decision(name, "wait", "backendai.no-room", "there is no room", nearest_miss=missed)


def test_the_table_says_who_gives_way_to_whom_where_and_why(capsys: Capture) -> None:
    ran = called(capsys, "plan", THRESHOLD)
    lines = ran.out.splitlines()

    assert (ran.code, ran.err) == (0, "")
    assert lines[0] == "backendai bep-1014, now 0"
    assert lines[2].split() == ["action", "workload", "evicts", "on", "why"]
    assert lines[4].split()[:5] == ["preempt", "urgent", "nightly", "(ended)", "gpu-1"]
    assert "[backendai.lower-priority]" in ran.out
    assert lines[5].split()[:2] == ["costs", "480"]
    assert lines[-1] == "0 start, 1 preempt evicting 1 (8 GPU-hours lost), 0 wait, 0 refuse"


def test_a_narrow_terminal_has_the_same_below_each_other(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = called(capsys, "plan", THRESHOLD).out

    assert "evicts nightly (ended)" in out
    assert "on gpu-1" in out


def test_explain_shows_every_candidate_with_verdict_rule_and_reason(capsys: Capture) -> None:
    out = called(capsys, "plan", THRESHOLD, "--explain").out
    rows = [line.split()[:3] for line in out.partition("Looked at for urgent")[2].splitlines() if "backendai." in line]

    assert rows == [
        ["nightly", "victim", "backendai.lower-priority"],
        ["production", "protected", "backendai.preemptible-priority"],
        ["notebook", "not-needed", "backendai.not-needed"],
    ]
    assert "its priority 8 is above the group's" in out


def test_a_wait_says_what_would_have_made_room(capsys: Capture) -> None:
    out = " ".join(called(capsys, "plan", EXAMPLES / "nearest-miss.yaml").out.split())

    assert (
        "retrain: would have made room: batch-1 (protected by backendai.preemptible-priority: "
        "its priority 6 is above the group's threshold 5)" in out
    )


def test_a_broken_promise_is_a_warning_with_its_rule(capsys: Capture) -> None:
    out = " ".join(called(capsys, "plan", EXAMPLES / "swap-own-jobs.yaml").out.split())

    assert "warning evaluate: BEP-1014 preempts only lower priority; explore has 10, the claimant 10" in out
    assert "[backendai.breaks-lower-priority]" in out


def test_json_is_the_plan_and_has_candidates_only_if_asked(capsys: Capture) -> None:
    cluster = cede.load(THRESHOLD)

    assert called(capsys, "plan", THRESHOLD, "--json").data == cede.plan(cluster).to_dict()
    assert called(capsys, "plan", THRESHOLD, "--json", "--explain").data == cede.plan(cluster, explain=True).to_dict()


def test_one_workload_is_decided_if_asked(capsys: Capture) -> None:
    found = called(capsys, "plan", EXAMPLES / "gang.yaml", "--for", "small", "--json").data

    assert [decision["workload"] for decision in found["decisions"]] == ["small"]


def test_shares_are_printed_or_said_to_be_none(capsys: Capture) -> None:
    shares = {"queues": {"a": {"share": 0.5}, "b": {"share": 1, "free": "x"}}, "apps": {}, "workloads": {}}
    print_plan(Plan("kueue", "0.20", 0, (), shares=shares))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    print_plan(Plan("kueue", "0.20", 0, (), shares={"queues": {}, "apps": {}, "workloads": {}}))

    assert [rows[2], rows[4], rows[5]] == [["queues", "share", "free"], ["a", "0.5", "–"], ["b", "1", "x"]]
    assert "kueue 0.20 computes no shares." in capsys.readouterr().out
    assert "queues" in called(capsys, "plan", THRESHOLD, "--shares", "--json").data


@pytest.mark.parametrize("width", ["80", "160"])
def test_amounts_stand_below_each_other_resource_by_resource(
    width: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    queue = {"dominant_share": 1e9, "borrowing": True, "used": {"cpu": "99500m", "memory": 2**34}, "free": {"cpu": 0}}
    print_plan(Plan("kueue", "0.20", 0, (), shares={"queues": {"a": queue}}))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]

    amounts = [["cpu", "99.5", "0"], ["memory", "16Gi"]]
    apart = [["a", "infinite", "yes"], ["a", *amounts[0]], amounts[1]]
    together = [["a", "infinite", "yes", *amounts[0]], amounts[1]]
    assert [row for row in rows if row and row[0] in ("a", "memory")] == (apart if width == "80" else together)


def test_nothing_pending_is_said(capsys: Capture) -> None:
    ran = called(capsys, "plan", THRESHOLD, "--without", "urgent")

    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "Nothing is pending: there is nothing to decide."


def test_changes_are_made_before_planning(capsys: Capture, tmp_path: Path) -> None:
    extra = tmp_path / "extra.yaml"
    extra.write_text(yaml.safe_dump({"name": "second", "queue": "default", "priority": 90, "requests": {"gpu": 1}}))
    ran = called(
        capsys,
        "plan",
        THRESHOLD,
        "--json",
        "--add",
        extra,
        "--without",
        "notebook",
        "--set",
        "workloads[urgent].priority=4",
    )

    assert {decision["workload"]: decision["action"] for decision in ran.data["decisions"]} == {
        "second": "start",
        "urgent": "preempt",
    }


def test_another_edition_decides_otherwise(capsys: Capture) -> None:
    found = called(capsys, "plan", THRESHOLD, "--doctrine", "backendai/26.8", "--json").data

    assert found["edition"] == "26.8"
    assert found["decisions"][0]["rule"] == "backendai.preemption-off"


def test_names_cannot_draw_on_the_terminal(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    work = {"name": "[red]a\x1b[31m\n", "requests": {"cpu": 1}}
    path.write_text(
        yaml.safe_dump({"cede": 1, "doctrine": "backendai", "nodes": [{"name": "n[/]"}], "workloads": [work]})
    )
    out = called(capsys, "plan", path, "--explain").out

    assert "\x1b" not in out
    assert "[red]a\\x1b[31m\\n" in out


def test_victims_are_told_by_what_becomes_of_them() -> None:
    victims = tuple(Victim(name, "r", fate) for name, fate in (("a", "ended"), ("b", "requeued"), ("c", "ended")))

    assert evicted(victims) == "a, c (ended); b (requeued)"
    assert evicted(tuple(Victim(f"v{i}", "r") for i in range(376))) == "v0, v1, v2, v3, v4, v5, and 370 more (requeued)"


def test_victims_that_are_leaving_already_stand_apart_and_are_not_counted() -> None:
    victims = (Victim("own", "r"), Victim("bor", "r", leaving=True), Victim("end", "r", "ended"))

    assert evicted(victims) == "end (ended); own (requeued); bor (leaving already)"
    assert "1 preempt evicting 2," in summary(made(Decision("in", "preempt", "r", "w", victims)))


def test_a_miss_that_no_rule_protects_is_told_as_such() -> None:
    decision = wait("in", Miss("a", "d.rule", "it may not"), Miss("b", None, "no rule protects it"))

    assert missed(decision) == "would have made room: a (protected by d.rule: it may not), b (no rule protects it)"


@pytest.mark.parametrize("width", ["80", "200"])
def test_the_nearest_miss_is_told_to_its_end_and_of_many_the_first_few(
    width: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    why = "it is in another queue, and its priority 100 is not below the claimant's priority 50"
    misses = [Miss(f"w{i}", "kueue.reclaim-lower-priority", why) for i in range(9)]
    print_plan(made(wait("few", *misses[:6]), wait("many", *misses)))
    out = " ".join(capsys.readouterr().out.split())

    assert "..." not in out
    assert out.count(f": {why})") == 12
    assert f"{why}), and 3 more" in out


def test_of_very_many_decisions_those_that_preempt_are_shown() -> None:
    many = tuple(wait(f"w{i}") for i in range(1000))
    preempting = Decision("in", "preempt", "d.rule", "why", (Victim("v", "d.rule"),))
    shown = shown_decisions((*many, preempting))

    assert len(shown) == MOST_DECISIONS
    assert shown[-1] is preempting
    assert shown[0] is many[0]


def test_evictions_that_serve_nobody_are_printed(capsys: Capture) -> None:
    nobody = Decision(None, "preempt", "d.overcommit", "n1 holds too much", (Victim("v", "d.overcommit"),), ("n1",))
    warned = Decision("in", "start", "d.fits", "it fits", nodes=("n1", "n1"), warnings=(Warning("d.promise", "hm"),))
    print_plan(made(nobody, warned))
    out = capsys.readouterr().out

    assert "(nobody)" in out
    assert "n1 ×2" in out
    assert "in: hm [d.promise]" in out


def test_the_summary_counts() -> None:
    victims = (Victim("a", "r"), Victim("b", "r"))
    plan = made(wait("x"), wait("y"), Decision("in", "preempt", "r", "w", victims), Decision("s", "start", "r", "w"))

    assert summary(plan) == "1 start, 1 preempt evicting 2, 2 wait, 0 refuse"
