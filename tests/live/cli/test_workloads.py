"""Commands about workloads, against a real server and real processes."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from tests.live.cli.serving import USER, Call, Served, until


def test_a_submitted_command_runs_and_can_be_looked_at(call: Call) -> None:
    made = call("submit", "--name", "hello", "--cpu", "500m", "--env", "WHO=you", "--", "sh", "-c", "echo hello $WHO")

    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("hello  starting  it fits now on ")
    assert call("wait", "hello").out == "hello  completed  it ended by itself with exit code 0\n"
    assert call("logs", "hello").out == "hello you\n"
    assert call("logs", "hello", "--json").out == '"hello you"\n'
    assert call("status", "hello").out.startswith("hello  completed\n")
    assert "sh -c 'echo hello $WHO'" in call("status", "hello").out


def test_ps_lists_what_is_under_way_unless_all_is_asked_for(call: Call) -> None:
    call("submit", "--name", "over", "--", "true")
    call("wait", "over")
    call("submit", "--name", "under-way", "--cpu", "100m", "--", "sleep", "600")

    assert "under-way" in call("ps").out
    assert "over " not in call("ps").out
    assert "over " in call("ps", "--all").out
    assert [job["name"] for job in call("ps", "--json", "--mine").data] == ["under-way"]
    assert call("ps", "--state", "suspended").out == "There are no workloads.\n"
    newest = call("ps", "--all", "--limit", "1").out
    assert ("under-way" in newest, "over " in newest) == (True, False)
    assert newest.splitlines()[-1].startswith("There are older ones: --limit N shows more")
    assert "There are older ones" not in call("ps", "--all").out
    until(lambda: bool(call("status", "under-way", "--json").data["state"] == "running"))
    assert call("cancel", "under-way").code == 0
    assert call("wait", "under-way").code == 143


def test_wait_tells_by_its_exit_code_how_it_ended(call: Call) -> None:
    call("submit", "--name", "fails", "--", "sh", "-c", "exit 3")
    call("submit", "--name", "works", "--", "true")
    call("submit", "--name", "killed", "--", "sh", "-c", "kill -SEGV $$")
    call("submit", "--name", "lasts", "--cpu", "100m", "--", "sleep", "600")
    call("submit", "--name", "unknown", "--cpu", "100m", "--", "no-such-command")
    late = call("wait", "lasts", "works", "--timeout", "0.2")

    assert call("wait", "works").code == 0
    assert call("wait", "fails").code == 3
    assert call("wait", "fails", "fails").code == 3, "one workload, however often it is named"
    assert call("wait", "killed").code == 128 + 11
    assert call("wait", "unknown").code == 1, "it has no exit code: it never ran"
    assert call("wait", "fails", "works").code == 1
    assert call("wait", "works", "unknown").code == 1
    assert late.code == 124
    assert late.err.startswith("lasts is still ")
    until(lambda: bool(call("status", "lasts", "--json").data["state"] == "running"))
    call("cancel", "lasts")
    assert call("wait", "lasts").code == 128 + 15


def test_json_tells_what_exit_codes_leave_open(call: Call) -> None:
    call("submit", "--name", "says-124", "--", "sh", "-c", "exit 124")
    call("submit", "--name", "lingers", "--cpu", "100m", "--", "sleep", "600")
    ended, late = call("wait", "says-124", "--json"), call("wait", "says-124", "lingers", "--timeout", "1", "--json")
    call("cancel", "lingers")

    assert ended.code == late.code == 124
    assert [(one["state"], one["exit_code"]) for one in json.loads(ended.out)] == [("failed", 124)]
    assert [(one["name"], one["state"] == "failed") for one in json.loads(late.out)] == [
        ("says-124", True),
        ("lingers", False),
    ]
    assert call("wait", "nobody", "--json").out == ""


def test_what_is_piped_to_a_submission_is_not_lost_in_silence(server: Served, tmp_path: Path) -> None:
    lost = "error: standard input: a job does not read it, and this would be lost"
    (tmp_path / "input").write_text("hello")
    full, full_end = os.pipe()
    os.write(full_end, b"hello")
    empty, empty_end = os.pipe()
    os.close(empty_end)
    silent, silent_end = os.pipe()
    ours, theirs = socket.socketpair()
    ours.send(b"hello")
    with (tmp_path / "input").open() as file:
        for refused in (full, file.fileno(), theirs.fileno()):
            ran = server.fed(refused, "submit", "--", "cat")
            assert (ran.code, ran.out) == (2, "")
            assert ran.err.startswith(lost)
    ended, unknown = (server.fed(one, "submit", "--", "cat") for one in (empty, silent))
    for one in (full, full_end, empty, silent, silent_end):
        os.close(one)
    ours.close()
    theirs.close()

    assert (ended.code, ended.err) == (0, "")
    assert unknown.code == 0
    assert unknown.err.startswith("hint: standard input is a pipe, and nothing of it reaches the job")


def test_options_behind_the_command_get_a_hint(call: Call) -> None:
    behind = call("submit", "--name", "behind", "sh", "-c", "true", "--cpu", "2", "--memory=1Gi")
    parted = call("submit", "--name", "parted", "--", "sh", "-c", "true", "--cpu", "2")
    own = call("submit", "--name", "own", "sh", "-c", "true", "-f", "--epochs", "3")

    assert (behind.code, parted.code, own.code) == (0, 0, 0)
    assert behind.err.startswith("hint: --cpu, --memory=1Gi: behind the command, so they are given to it")
    assert (parted.err, own.err) == ("", "")


def test_a_resource_that_is_almost_called_so_is_offered_by_its_name(call: Call) -> None:
    ran = call("submit", "--request", "mem=1Gi", "--", "true")

    assert ran.code == 2
    assert ran.err.endswith("mem 1Gi asked, 0 free (did you mean 'memory'?) [backendai.fits-no-node]\n")


def test_following_prints_both_streams_and_ends_like_the_command(server: Served) -> None:
    script = "echo out; echo err >&2; exit 5"
    ran = server.run("submit", "--name", "followed", "--follow", "--", "sh", "-c", script)

    assert ran.code == 5
    assert ran.out.splitlines()[1:] == ["out", "followed  failed  it ended with exit code 5"]
    assert ran.err == "err\n"


GO = "until [ -e $CEDE_CHECKPOINT_DIR/go{} ]; do sleep 0.02; done"


def let_go(server: Served, name: str, number: int, *, said: str, member: int = 0) -> None:
    """The workload goes on, once it has said this and that is on record."""
    until(lambda: said.encode() in b"".join(server.client.logs(name, member=member, stream="both")))
    (server.data / "jobs" / name / "checkpoint" / f"go{number}").touch()


def test_both_streams_are_printed_as_they_were_written(server: Served, call: Call) -> None:
    script = f"echo one; {GO.format(1)}; echo two >&2; {GO.format(2)}; echo three; printf end >&2"
    call("submit", "--name", "both", "--", "sh", "-c", script)
    let_go(server, "both", 1, said="one")
    let_go(server, "both", 2, said="two")
    call("wait", "both")

    assert call("logs", "both").out == "one\ntwo\nthree\nend"
    assert call("logs", "both", "--stdout").out == "one\nthree\n"
    assert call("logs", "both", "--stderr").out == "two\nend"
    assert call("logs", "both", "--stdout", "--stderr", "--tail", "2").out == "three\nend"
    assert call("logs", "both", "--tail", "9" * 20).out == call("logs", "both").out
    assert call("logs", "both", "--follow").out == "one\ntwo\nthree\nend"
    assert call("logs", "both", "--json").out == '"one"\n"two"\n"three"\n"end"\n'


def test_the_lines_of_all_members_say_whose_they_are_and_which_of_them_failed(server: Served, call: Call) -> None:
    script = (
        f"case $CEDE_RANK in 0) {GO.format(1)}; echo zero; exec sleep 600;; "
        f"1) echo one; {GO.format(2)}; echo two >&2; exit 7;; esac"
    )
    call("submit", "--name", "pair", "--members", "2", "--cpu", "100m", "--", "sh", "-c", script)
    let_go(server, "pair", 1, said="one", member=1)
    let_go(server, "pair", 2, said="zero")
    ended = call("wait", "pair")

    assert ended.code == 7
    failed_on = server.client.job("pair")["failure"]
    assert failed_on is not None
    node = failed_on["node"]
    assert f"it ended with exit code 7 (member 1 on {node})" in ended.out
    assert call("logs", "pair", "--member", "all").out == "[1] one\n[0] zero\n[1] two\n"
    assert call("logs", "pair", "--member", "all", "--follow", "--tail", "2").out == "[0] zero\n[1] two\n"
    assert call("logs", "pair", "--member", "1").out == "one\ntwo\n"
    assert json.loads(call("logs", "pair", "--member", "all", "--stderr", "--json").out) == {
        "member": 1,
        "stream": "err",
        "line": "two",
    }
    assert call("logs", "pair", "--member", "one").err.startswith("error: --member: 'one' is no number of a member")
    assert call("status", "pair", "--json").data["failure"] == {
        "member": 1,
        "node": node,
        "exit_code": 7,
        "exit_signal": None,
        "why": "it ended with exit code 7",
        "stderr": ["two"],
    }
    status, why = call("status", "pair").out, call("why", "pair").out
    assert f"failed        member 1 on {node}: it ended with exit code 7\nits stderr    two\n" in status
    assert f"Attempt 1 failed: member 1 on {node}: it ended with exit code 7.\n" in why
    assert "standard error:\n  two\n" in why
    assert call("why", "pair", "--json").data["workload"]["failure"]["stderr"] == ["two"]


def test_following_as_json_prints_nothing_but_json(server: Served) -> None:
    ran = server.run("submit", "-f", "--json", "--cpu", "100m", "--", "sh", "-c", "echo out; exit 4")

    assert (ran.code, json.loads(ran.out)["exit_code"]) == (4, 4)
    assert "out" in ran.err.splitlines()


def test_a_submission_of_several_members_is_followed_with_their_numbers(server: Served) -> None:
    ran = server.run("submit", "-f", "--members", "2", "--cpu", "100m", "--", "sh", "-c", "echo I am $CEDE_RANK")

    assert ran.code == 0
    assert sorted(ran.out.splitlines()[1:3]) == ["[0] I am 0", "[1] I am 1"]


def test_a_warning_goes_to_standard_error(call: Call) -> None:
    ran = call("submit", "--name", "warned", "--checkpoint", "manual", "--", "true")

    assert ran.code == 0
    assert ran.err.startswith("warning: checkpoint is manual, but nothing will answer")


def test_the_last_lines_can_be_had(call: Call) -> None:
    call("submit", "--name", "lines", "--wait", "--", "seq", "5")

    assert call("logs", "lines", "--tail", "2").out == "4\n5\n"


REFUSED = {
    "an amount": (["--cpu", "much"], "error: --cpu: 'much' is no quantity"),
    "a queue": (["--queue", "defalt"], "error: --queue: no queue is called 'defalt' (did you mean 'default'?)"),
    "a duration": (["--grace", "soon"], "error: --grace: 'soon' is no duration"),
    "a variable": (["--env", "CEDE_JOB=x"], "error: --env CEDE_JOB: CEDE_JOB is set by Cede"),
    "a priority": (["--priority", "1000"], "error: --priority: 1000 is out of range"),
    "a checkpoint": (["--checkpoint", "atuo"], "error: --checkpoint: 'atuo' is none of none, auto, manual"),
    "a folder": (["--cwd", "nowhere"], "error: --cwd: there is no directory 'nowhere'"),
}


@pytest.mark.parametrize(("options", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_refused_is_named_by_its_option(options: list[str], said: str, call: Call) -> None:
    ran = call("submit", *options, "--", "true")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(said)


def test_a_name_that_is_almost_right_is_offered(call: Call) -> None:
    call("submit", "--name", "training", "--wait", "--", "true")
    ran = call("status", "trainin")
    both = call("cancel", "trainin", "training")

    assert ran.code == 2
    assert ran.err.endswith("[live.not-visible] (did you mean 'training'?)\n")
    assert (both.code, both.err.splitlines()[0]) == (2, "error: 2 problems")
    assert "  training is completed already [live.ended]" in both.err


def test_a_workload_is_suspended_with_its_checkpoint_and_resumes_from_it(server: Served, call: Call) -> None:
    server.counting("pausing", priority=1)

    assert call("checkpoint", "pausing").out.startswith("pausing  checkpointing")
    until(lambda: server.client.job("pausing")["state"] == "running")
    assert call("suspend", "pausing").code == 0
    until(lambda: server.client.job("pausing")["state"] == "suspended")
    assert f"{USER} suspended it: `cede resume pausing` lets it queue again." in call("why", "pausing").out
    assert call("resume", "pausing").code == 0
    until(lambda: server.client.job("pausing")["attempt"] == 2)
    until(lambda: b"resuming from" in b"".join(server.client.logs("pausing", attempt=2)))
    assert "saved" in call("logs", "pausing", "--attempt", "1").out
    call("cancel", "pausing")
    assert call("wait", "pausing").code != 0
