"""Commands about the cluster: its nodes and queues, who gives way to whom, and what would be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.live.cli.serving import DEADLINE_S, Call, Served, until
from tests.unit.cli.calls import EXAMPLES

URGENT = EXAMPLES / "live" / "urgent.yaml"


@pytest.fixture(scope="module")
def busy(server: Served) -> Served:
    """Both nodes are taken, and one workload waits."""
    server.counting("first", priority=5)
    server.counting("second", priority=5)
    server.client.submit(["true"], name="waits", priority=1, cpu=2, cwd="/")
    return server


@pytest.fixture(scope="module")
def gave_way(busy: Served) -> None:
    """One of them gave way to an urgent workload, and is back."""
    busy.client.submit(["true"], name="urgent", priority=9, cpu=2, cwd="/")
    busy.client.wait("urgent", DEADLINE_S)
    until(lambda: busy.client.job("first")["state"] == "running" and busy.client.job("first")["attempt"] == 2)


def test_the_server_says_where_it_is_and_whose_rights_jobs_have(server: Served) -> None:
    left = json.loads((server.data / "server.json").read_text())

    assert server.said["url"] == left["url"]
    assert server.said["data"] == str(server.data)
    assert server.said["token"].startswith("cede_")
    assert server.said["rights"]


def test_a_second_server_of_the_same_directory_is_refused(server: Served) -> None:
    ran = server.run("serve", "--data", server.data, "--port", "0")

    assert ran.code == 2
    assert f"a server at {server.said['url']}" in ran.err


def test_a_token_says_who_somebody_is(server: Served, call: Call) -> None:
    made = call("token", "create", "alice", "--project", "ml")
    as_alice = {"CEDE_URL": server.said["url"], "CEDE_TOKEN": made.out.strip(), "CEDE_DATA": ""}
    refused = server.run("token", "list", **as_alice)
    number = next(one["id"] for one in call("token", "list", "--json").data if one["user"] == "alice")

    assert made.out.startswith("cede_")
    assert refused.code == 2
    assert refused.err.endswith("takes an admin [live.role]\n")
    assert server.run("queues", **as_alice).code == 0
    assert call("token", "revoke", str(number)).out == f"token {number} of alice is revoked\n"
    assert "[live.wrong-token]" in server.run("queues", **as_alice).err


def test_a_node_is_drained_and_brought_back(call: Call) -> None:
    drained = call("nodes", "drain", "east")

    assert drained.out.splitlines()[2].startswith("east   cordoned")
    assert [node["state"] for node in call("nodes", "--json").data] == ["cordoned", "ready"]
    assert call("nodes", "undrain", "east").code == 0
    assert (
        call("nodes", "drain", "eats").err
        == "error: there is no node called eats [live.unknown] (did you mean 'east'?)\n"
    )
    assert [entry["what"] for entry in call("audit", "--about", "east", "--json").data] == ["drain", "undrain"]


@pytest.mark.usefixtures("busy")
def test_the_live_plan_is_that_of_the_snapshot(server: Served, call: Call, tmp_path: Path) -> None:
    file = tmp_path / "now.yaml"
    assert call("snapshot", "--out", file).code == 0
    of_file = server.run("plan", file, "--json").data
    of_server = call("plan", "--live", "--json").data

    assert of_file["decisions"] == of_server["decisions"]
    assert of_server["decisions"][0]["action"] == "wait"
    asked = call("plan", "--live", "--add", URGENT, "--for", "urgent", "--explain").out
    assert "first (requeued)" in asked
    assert call("diff", "--live", "--add", URGENT).out.startswith("Yes: 1 more workload is evicted: first\n")
    assert (
        call("diff", "--live", "--set", "queues[nix].x=1").err
        == "error: --set queues[nix].x: no queue is called 'nix'\n"
    )
    assert call("plan", "--live", "--set", "doctrine.edition=nix").err.startswith("error: doctrine.edition: ")
    proven = call("plan", "--live", "--add", URGENT, "--for", "urgent", "--certify", "20").out
    assert "certificate" in proven
    assert "optimal" in proven
    assert "certificate" in call("diff", "--live", "--add", URGENT, "--certify", "20").out
    for question in (("plan", "--live"), ("diff", "--live", "--add", str(URGENT)), ("decisions", "1")):
        refused = call(*question, "--certify", "21")
        assert (refused.code, refused.err) == (
            2,
            "error: --certify: '21' is no time to certify in (give seconds, above 0 and at most 20 of a running "
            "server; as 10 or 0.5)\n",
        )
    assert call("plan", "--live", "--for", "nobody").err.startswith("error: --for: no workload is called 'nobody'")
    assert server.client.job("first")["state"] == "running", "asking changes nothing"


@pytest.mark.usefixtures("gave_way")
def test_why_tells_who_gave_way_to_whom(server: Served, call: Call) -> None:
    victim, claimant = call("why", "first").out, call("why", "urgent").out
    [preemption] = [one for one in call("decisions", "--json").data if one["victims"]]

    assert "It gave way to urgent.\n" in victim
    assert "For it gave way: first.\n" in claimant
    assert "urgent preempts first on east" in " ".join(victim.split())
    assert "first is requeued" in victim
    assert "[backendai.lower-priority]" in victim
    assert "preempt   urgent" in call("decisions", str(preemption["number"])).out
    # The first one has to load the solver, which takes long on a busy machine.
    for given in (["--certify", "20"], ["--certify"]):
        assert ": optimal" in call("decisions", str(preemption["number"]), *given).out
    assert call("decisions", str(preemption["number"]), "--certify", "0").err.startswith("error: --certify: '0' is no")
    started = next(one["number"] for one in call("decisions", "--json").data if not one["victims"])
    nothing = call("decisions", str(started), "--certify")
    assert nothing.code == 2
    assert f"decision {started} has no victims: there is nothing to certify" in nothing.err
    assert call("decisions", "--certify").err == "error: --certify: of which decision? (give its number)\n"
    again = server.run("decisions", str(preemption["number"]), "--cluster").out
    assert "name: urgent" in again


@pytest.mark.usefixtures("gave_way")
def test_why_tells_what_came_nearest(call: Call) -> None:
    told = " ".join(call("why", "waits").out.split())

    assert "Now: no node has room for it" in told
    assert "What would let it run: candidate: first leaves, or may be preempted (first: its priority 5 is not" in told


@pytest.mark.usefixtures("gave_way")
@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_terminal(width: int, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for arguments in (
        ["ps", "--all"],
        ["nodes"],
        ["queues"],
        ["events"],
        ["decisions"],
        ["audit"],
        ["why", "first"],
        ["status", "first"],
        ["top"],
        ["token", "list"],
    ):
        ran = call(*arguments)

        assert ran.code == 0, ran.err
        assert max(map(len, ran.out.splitlines())) <= width, arguments


@pytest.mark.usefixtures("gave_way")
@pytest.mark.parametrize(
    "arguments",
    [
        ["ps"],
        ["nodes"],
        ["queues"],
        ["decisions"],
        ["audit"],
        ["why", "first"],
        ["status", "first"],
        ["top"],
        ["snapshot"],
    ],
    ids=" ".join,
)
def test_every_answer_can_be_had_as_json(arguments: list[str], call: Call) -> None:
    assert call(*arguments, "--json").data


@pytest.mark.usefixtures("gave_way")
def test_events_are_a_line_each(call: Call) -> None:
    lines = [json.loads(line) for line in call("events", "first", "--json").out.splitlines()]

    assert [lines[0]["after"], lines[0]["workload"]] == ["pending", "first"]
    assert [line["number"] for line in lines] == sorted(line["number"] for line in lines)
    assert len(call("events", "first", "--tail", "1", "--json").out.splitlines()) == 1
    assert call("events", "first", "--tail", "9" * 20).out == call("events", "first").out
    for command in ("decisions", "audit"):
        assert call(command, "--tail", "9" * 20).code == 0


@pytest.mark.usefixtures("busy")
def test_names_are_completed_from_the_server(server: Served) -> None:
    def offered(words: str, count: int) -> list[str]:
        asking = {"_CEDE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(count)}
        return server.run(**asking).out.split()

    # A machine that is busy may not answer within half a second; who presses the key again gets it.
    until(lambda: offered("cede status fir", 2) == ["first"])
    until(lambda: offered("cede submit --queue def", 3) == ["default"])
    until(lambda: offered("cede nodes drain w", 3) == ["west"])


def test_lint_of_the_running_cluster_names_checkpoints_that_nothing_asks_for(call: Call) -> None:
    call("submit", "--name", "unasked", "--checkpoint", "manual", "--cpu", "0.1", "--", "sleep", "600")
    findings = call("lint", "--live", "--json").data
    call("cancel", "unasked")
    call("wait", "unasked", "--timeout", "30")

    assert [one["path"] for one in findings if one["rule"] == "live.nobody-asks"] == ["workloads[unasked].checkpoint"]
