"""What the other commands print."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cede.cli.main import main
from cede.cli.output import MOST_LETTERS, console, cut
from cede.cli.settle import chain, print_settled
from cede.cli.tour import NEXT, STOPS, tour
from cede.doctrines.catalog import find
from cede.doctrines.document import json_schema
from cede.model.plan import Preemption, Settled
from tests.unit.cli.calls import EXAMPLES, called

Capture = pytest.CaptureFixture[str]

THRESHOLD = EXAMPLES / "threshold.yaml"
GANG = EXAMPLES / "gang.yaml"
MISS = EXAMPLES / "nearest-miss.yaml"
RAISED = ("--set", "queues[default].settings.preemptible_priority=6")


def test_diff_answers_yes_in_its_first_line(capsys: Capture) -> None:
    out = called(capsys, "diff", MISS, *RAISED).out

    assert out.splitlines()[0] == "Yes: 1 more workload is evicted: batch-1"
    assert "victim of retrain" in out
    assert out.splitlines()[-1] == "No decision is unchanged."


def test_diff_answers_no_in_its_first_line_and_counts_what_stays(capsys: Capture) -> None:
    out = called(capsys, "diff", GANG, "--set", "now=5").out

    assert out == "No one is evicted that was not before.\n\n2 decisions unchanged.\n"


def test_a_diff_where_nobody_waits_speaks_of_no_decisions(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "idle.yaml"
    path.write_text("{cede: 1, doctrine: lattice, nodes: [{name: n1, capacity: {cpu: 1}}]}", encoding="utf-8")

    assert called(capsys, "diff", path, "--doctrine", "kueue").out == "No one is evicted that was not before.\n"


def test_diff_says_who_is_spared(capsys: Capture) -> None:
    lines = called(capsys, "diff", GANG, "--set", "workloads[foundation].preempts=false").out.splitlines()

    assert lines[:2] == [
        "No one is evicted that was not before.",
        "Evicted before, and no longer: sweep-b, tuning",
    ]


def test_diff_says_who_loses_its_place(capsys: Capture) -> None:
    out = called(capsys, "diff", MISS, "--without", "node/gpu-0").out

    assert out.splitlines()[0] == "Yes: 1 workload loses its place: batch-1"


def test_diff_of_nothing_is_told(capsys: Capture) -> None:
    ran = called(capsys, "diff", GANG)

    assert ran.code == 2
    assert "there is nothing to compare" in ran.err


def test_diff_as_json(capsys: Capture) -> None:
    found = called(capsys, "diff", MISS, *RAISED, "--json").data

    assert [eviction["workload"] for eviction in found["evicted"]] == ["batch-1"]
    assert [change["workload"] for change in found["changes"]] == ["retrain"]


def test_settle_says_how_it_ended(capsys: Capture) -> None:
    out = called(capsys, "settle", GANG, "--interval", "5").out

    assert out.splitlines()[0] == "Settled after 2 cycles: nothing changes any more."
    assert [line.split() for line in out.splitlines() if "foundation   backendai" in line] == [
        ["1", "sweep-b", "foundation", "backendai.lower-priority"],
        ["1", "tuning", "foundation", "backendai.lower-priority"],
    ]
    assert "small      backendai.head-only" in out


def test_settle_says_that_it_was_not_at_the_end_yet_and_who_ended(capsys: Capture) -> None:
    out = called(capsys, "settle", THRESHOLD, "--cycles", "1").out

    assert out.splitlines()[0] == "Still changing after 1 cycle; --cycles N looks further."
    assert out.splitlines()[-1] == "Ended nightly"


def test_settle_as_json(capsys: Capture) -> None:
    found = called(capsys, "settle", GANG, "--json").data

    assert found["settled"] is True
    assert found["running"]["foundation"] == ["node-1", "node-2", "node-3"]


@pytest.mark.parametrize("arguments", [("--cycles", "0"), ("--interval", "soon"), ("--interval", "-1")])
def test_settle_refuses_what_is_no_number_of_cycles_or_time(arguments: tuple[str, str], capsys: Capture) -> None:
    ran = called(capsys, "settle", GANG, *arguments)

    assert ran.code == 2
    assert ran.err.startswith(f"error: {arguments[0].removeprefix('--')}: ")


LOOP = (
    Preemption(3, "a", "b", "d.one"),
    Preemption(4, "b", "c", "d.two"),
    Preemption(4, "bystander", "c", "d.two"),
    Preemption(5, "c", "a", "d.three"),
)


def test_a_loop_is_drawn_as_a_chain_that_ends_where_it_began(capsys: Capture) -> None:
    print_settled(console(), Settled(False, 5, LOOP, {"a": ["n1"]}, {"b": "d.one"}, LOOP))

    assert capsys.readouterr().out.splitlines()[:7] == [
        "LOOP: after 5 cycles the cluster is where it was before, and it will be there again.",
        "  b -> a -> c -> b",
        "  b preempts a in cycle 3 [d.one]",
        "  a preempts c in cycle 5 [d.three]",
        "  c preempts b in cycle 4 [d.two]",
        "",
        "Preemptions",
    ]


def test_a_loop_without_a_chain_is_told_in_the_order_it_happened(capsys: Capture) -> None:
    loop = (Preemption(1, "a", None, "d.limit"), Preemption(2, "a", "b", "d.one"))
    print_settled(console(), Settled(False, 2, loop, {}, {}, loop))

    assert chain(loop) == []
    assert capsys.readouterr().out.splitlines()[1:3] == [
        "  nobody preempts a in cycle 1 [d.limit]",
        "  b preempts a in cycle 2 [d.one]",
    ]


def test_a_line_has_no_blanks_at_its_end(capsys: Capture) -> None:
    out = called(capsys, "plan", GANG, "--explain").out + called(capsys, "diff", MISS, *RAISED).out

    assert [line for line in out.splitlines() if line != line.rstrip()] == []


def test_what_is_too_long_is_cut_between_words() -> None:
    assert cut("word " * 100) == f"{' '.join(['word'] * 79)}..."
    assert cut("x" * 500) == f"{'x' * (MOST_LETTERS - 3)}..."
    assert cut("x" * MOST_LETTERS) == "x" * MOST_LETTERS


def test_lint_prints_place_rule_message_and_hint(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("cede: 1\nnodes: [{name: n, capacity: {cpu: 1}}]\nworkloads: [{name: a, requests: {cpu: 2}}]\n")
    ran, strict = called(capsys, "lint", path), called(capsys, "lint", path, "--strict")

    assert ran.out.splitlines() == [
        "workloads[a] [lint.fits-no-node]",
        "  a fits no node it may use, even if that were empty: closest is n: cpu 2 asked, 1 free",
        "  hint: lower what it requests, or add a node that is large enough and matches",
        "",
        "1 finding",
    ]
    assert (ran.code, strict.code) == (0, 1)
    assert strict.out == ran.out
    assert called(capsys, "lint", path, "--json").data[0]["rule"] == "lint.fits-no-node"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_have_no_findings(path: Path, capsys: Capture) -> None:
    ran = called(capsys, "lint", path, "--strict")

    assert (ran.code, ran.out) == (0, "No findings.\n")


def test_doctrines_are_listed_with_their_editions(capsys: Capture) -> None:
    assert "backendai    bep-1014, 26.8" in called(capsys, "doctrines").out
    assert called(capsys, "doctrines", "--json").data[0]["editions"] == ["bep-1014", "26.8"]


def test_a_doctrine_shows_settings_and_every_rule(capsys: Capture) -> None:
    out = called(capsys, "doctrines", "backendai").out
    found = called(capsys, "doctrines", "backendai", "--json").data

    assert all(rule.id in out for rule in find("backendai").rules)
    assert {rule["id"]: rule["sentence"] for rule in found["rules"]}["backendai.fits"] == "it fits now on ‹nodes›"
    assert {one["name"]: one["defaults"] for one in found["settings"]}["enabled"] == {"26.8": False}


@pytest.mark.parametrize(
    ("name", "words"),
    [("backendia", "did you mean 'backendai'?"), ("lattic", "did you mean 'lattice'?"), ("x", "x")],
)
def test_a_doctrine_that_is_not_there_is_told(name: str, words: str, capsys: Capture) -> None:
    ran = called(capsys, "doctrines", name)

    assert ran.code == 2
    assert words in ran.err


def test_the_schema_is_the_models(capsys: Capture) -> None:
    assert called(capsys, "schema").data == json_schema()
    assert called(capsys, "schema", "--json").data == json_schema()


def test_the_tour_plans_the_examples_and_its_commands_run(capsys: Capture) -> None:
    assert tour() == 0
    out = capsys.readouterr().out
    assert all(f"{name} --explain" in out for name, _ in STOPS)
    for _, command in NEXT:
        assert main(shlex.split(command.format(EXAMPLES))) == 0
        assert command.format("examples") in out.replace(str(EXAMPLES), "examples")
