"""Submissions: what is taken, and what is refused with its place and a reason."""

from typing import Any

import pytest

from cede.doctrines.document import parse_document
from cede.live.api.access import Caller
from cede.live.api.bodies import Submission
from cede.live.api.problems import RefusedError
from cede.live.api.submission_checks import SubmissionChecks
from cede.live.api.submissions import check_submission
from tests.live.api.serving import ACCOUNT, CLUSTER, Running


def test_a_submitted_command_runs_and_its_record_says_how_it_ended(running: Running) -> None:
    client = running.client("alice")
    made = client.submit(["sh", "-c", "echo hello; echo oops >&2; exit 3"], name="greeter", cwd="/tmp", cpu=1)

    ended = client.wait("greeter", 30)

    assert (made["user"], made["project"], made["queue"], made["requests"]) == ("alice", "ml", "default", {"cpu": 1})
    assert (ended["state"], ended["exit_code"]) == ("failed", 3)
    assert b"".join(client.logs("greeter")) == b"hello\n"
    assert b"".join(client.logs("greeter", stream="err")) == b"oops\n"


def test_a_command_without_a_name_is_called_after_its_program(running: Running) -> None:
    names = [running.submit(command=["/bin/true"]).json()["name"] for _ in range(3)]

    assert names == ["true-1", "true-2", "true-3"]


@pytest.mark.parametrize(("command", "stem"), [("../..", "job"), ("/opt/my tool", "my-tool"), ("ärger.py", "rger.py")])
def test_a_name_that_is_made_up_is_a_plain_word(running: Running, command: str, stem: str) -> None:
    assert running.submit(command=[command]).json()["name"].startswith(f"{stem}-")


def test_a_name_is_used_once_even_after_its_workload_ended(running: Running) -> None:
    client = running.client()
    client.submit(["true"], name="once", cwd="/tmp")
    client.wait("once", 30)

    again = running.submit(name="once")

    assert (again.status_code, again.json()["rule"]) == (409, "live.name-taken")


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "an amount that is none": ({"requests": {"cpu": "much"}}, "requests.cpu", "is no quantity"),
    "a negative amount": ({"requests": {"memory": -1}}, "requests.memory", "is negative"),
    "a key that is misspelt": ({"quue": "default"}, "quue", "there is no key"),
    "a queue that does not exist": ({"queue": "defalt"}, "queue", "no queue is called"),
    "a node that does not exist": ({"constraints": {"nodes": ["n2"]}}, "constraints.nodes[0]", "no node is called"),
    "no command": ({"command": []}, "command", "must not be empty"),
    "a duration that is none": ({"walltime": "soon"}, "walltime", "is no duration"),
    "a walltime of nothing": ({"walltime": "0s"}, "walltime", "is no time to run in"),
    "members beside pod sets": (
        {"members": 2, "pod_sets": [{"name": "a", "count": 1, "requests": {}}]},
        "members",
        "stands beside pod_sets",
    ),
    "a protocol without checkpoints": (
        {"checkpoint": {"mode": "none", "protocol": "shm"}},
        "checkpoint.protocol",
        "stands beside mode none",
    ),
    "a name with a slash": ({"name": "../../etc/passwd"}, "name", "is no name; a letter or digit"),
    "a name that is a dot": ({"name": ".."}, "name", "is no name; a letter or digit"),
    "a name that is too long": ({"name": "a" * 101}, "name", "is no name; a letter or digit"),
    "a name that ends in a line feed": ({"name": "a\n"}, "name", "is no name; a letter or digit"),
    "a folder that is not absolute": ({"cwd": "tmp"}, "cwd", "is no absolute path"),
    "a folder that goes up": ({"cwd": "/tmp/../etc"}, "cwd", "goes up by"),
    "a folder with a NUL": ({"cwd": "/tmp\0/x"}, "cwd", "NUL"),
    "an argument with a NUL": ({"command": ["echo", "a\0b"]}, "command[1]", "NUL"),
    "a variable with a NUL": ({"env": {"A": "x\0PATH=/evil"}}, "env", "NUL"),
    "a variable whose name sets another": ({"env": {"A=B": "x"}}, "env", "is no name of a variable"),
    "a variable of Cede's own": ({"env": {"CEDE_BROKER_TOKEN": "x"}}, "env.CEDE_BROKER_TOKEN", "is set by Cede"),
    "a variable that is too long": ({"env": {"A": "x" * 100_001}}, "env", "the most is 100000"),
    "text that is no Unicode": ({"command": ["echo", "\ud800"]}, "command[1]", "Unicode"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_submission_is_refused_for(running: Running, case: str) -> None:
    body, place, message = WRONG[case]

    answer = running.submit(**body)

    problem = answer.json()
    messages = {error["place"]: error["message"] for error in problem["errors"]}
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert message in messages[place]
    assert problem["rule"] in ("live.invalid", "live.reserved-variable")
    assert "‹" not in problem["detail"], "every name is filled in"


def test_the_nearest_name_is_offered(running: Running) -> None:
    [error] = running.submit(queue="defalt").json()["errors"]

    assert error["hint"] == "did you mean 'default'?"


def test_a_priority_that_the_doctrine_does_not_have_names_the_range(running: Running) -> None:
    answer = running.submit(priority=101)

    assert (answer.status_code, answer.json()["rule"]) == (400, "live.no-such-priority")
    assert "priorities go from 0 to 100" in answer.json()["detail"]


def test_a_class_outside_those_of_lattice_is_a_bad_request(running: Running) -> None:
    checks = SubmissionChecks(parse_document(CLUSTER | {"doctrine": "lattice", "queues": [], "policies": []}))
    body = Submission(command=["true"], cwd="/tmp", priority=11)

    with pytest.raises(RefusedError) as caught:
        check_submission(running.server, checks, Caller("root-admin", "admin", account=ACCOUNT), body, "any")

    assert caught.value.status == 400
    assert caught.value.detail == (
        "priority: 11 is out of range; under lattice priorities (preemption classes) go from 0 to 10"
    )


def test_a_user_may_not_go_beyond_the_policy_of_its_own(running: Running) -> None:
    answer = running.submit("bob", priority=21)

    assert (answer.status_code, answer.json()["rule"]) == (403, "live.priority-range")
    assert answer.json()["detail"] == "user bob may use priorities from 0 to 20, not 21"


def test_a_project_may_fix_the_priority(running: Running) -> None:
    refused = running.submit("alice", project="fixed", priority=11)
    allowed = running.submit("alice", project="fixed")

    assert (refused.status_code, refused.json()["rule"]) == (403, "live.fixed-priority")
    assert (allowed.status_code, allowed.json()["priority"]) == (201, 10)


def test_one_who_is_told_that_nothing_answers_is_told_why(running: Running) -> None:
    [warning] = running.submit(checkpoint={"mode": "auto"}).json()["warnings"]

    assert "nothing will answer the request" in warning


def test_interactive_work_is_warned_where_it_may_be_preempted(running: Running) -> None:
    warnings = running.submit(kind="interactive").json()["warnings"]

    assert any("interactive work cannot be suspended" in warning for warning in warnings)


def test_times_come_from_the_nearest_level(running: Running) -> None:
    name = running.submit(times={"grace_period": "5s"}, requeue="never", max_requeues=0).json()["name"]

    record = running.server.store.workload(name)
    assert record is not None
    assert (record.job.terms.grace_period, record.job.terms.checkpoint_timeout) == (5_000_000, 600_000_000)
    assert (record.job.terms.requeue, record.job.terms.max_requeues) == ("never", 0)


def test_what_is_no_json_is_a_bad_request(running: Running) -> None:
    headers = {"Content-Type": "application/json"}
    answers = [
        running.ask("POST", "/workloads", content=content, headers=headers)
        for content in (b"{", b"[" * 100_000, b'{"priority": ' + b"9" * 5000 + b"}")
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert {answer.json()["rule"] for answer in answers} == {"live.unreadable"}
