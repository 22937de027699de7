"""What a job finds around it, and what it leaves behind."""

import threading
from typing import Any

import pytest

from cede.live.client.errors import ClientError
from tests.live.scenarios.scripts import LET_GO, SLEEPS
from tests.live.serving import ACCOUNT, DEADLINE_S, Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

LIMIT = 8192


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    made = cluster_of("n1", "n2", cpu=8)
    for node, count in zip(made["nodes"], (3, 2), strict=True):
        node["capacity"]["gpu"] = count
    return made


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return {"log_limit": LIMIT}


def test_a_log_is_followed_to_its_end(live: Live) -> None:
    live.shell("talks", "for i in 1 2 3; do echo line $i; sleep 0.1; done; echo oops >&2", cpu=1)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.extend(live.client.logs("talks", follow=True)))
    reader.start()
    reader.join(DEADLINE_S)

    assert not reader.is_alive()
    assert b"".join(heard) == b"line 1\nline 2\nline 3\n"
    assert live.log("talks", stream="err") == "oops\n"


def test_each_attempt_has_a_log_of_its_own(live: Live) -> None:
    live.shell("two-tries", "echo attempt $CEDE_ATTEMPT; exit 1", cpu=1, requeue="always", max_requeues=1)

    assert live.end("two-tries")["attempt"] == 2
    assert live.log("two-tries", attempt=1) == "attempt 1\n"
    assert live.log("two-tries") == live.log("two-tries", attempt=2) == "attempt 2\n"


def test_a_log_that_grows_too_long_keeps_its_newest_part(live: Live) -> None:
    live.shell("chatty", "i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done", cpu=1)

    live.completed("chatty")
    kept = live.log("chatty")
    assert LIMIT // 2 < len(kept) <= 2 * LIMIT
    assert kept.endswith("line 3998\nline 3999\n")
    folder = live.data / "jobs" / "chatty" / "attempts" / "1" / "0"
    assert sum(file.stat().st_size for file in folder.glob("out.log*")) <= 2 * LIMIT


def test_a_job_has_its_own_environment_and_nothing_of_the_servers(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_SERVER", "hunter2")
    live.shell("env", "env; echo; pwd", cpu=1, env={"GREETING": "good day", "PATH": "/bin"}, cwd="/usr")

    live.completed("env")
    said = live.log("env")
    environment = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
    assert said.endswith("\n/usr\n")
    assert (environment["GREETING"], environment["PATH"], environment["CEDE_JOB"]) == ("good day", "/bin", "env")
    assert (
        environment["CEDE_ATTEMPT"],
        environment["CEDE_RESUME"],
        environment["CEDE_RANK"],
        environment["CEDE_SIZE"],
    ) == ("1", "0", "0", "1")
    assert (environment["USER"], environment["LOGNAME"]) == (ACCOUNT, ACCOUNT)
    assert "SECRET_OF_THE_SERVER" not in environment
    assert "CEDE_BROKER_TOKEN" not in environment
    assert "CEDE_TOKEN" not in environment


def test_a_job_cannot_choose_what_cede_tells_it(live: Live) -> None:
    with pytest.raises(ClientError, match="CEDE_RANK") as refused:
        live.shell("liar", "true", cpu=1, env={"CEDE_RANK": "7"})
    assert refused.value.status == 422


def test_jobs_side_by_side_have_gpus_of_their_own(live: Live) -> None:
    for name, gpus in (("one", 1), ("pair", 2), ("other", 1), ("none", 0)):
        live.runs(f"gpu-{name}", f"echo on $CEDE_NODE gpus:$CUDA_VISIBLE_DEVICES:; {SLEEPS}", cpu=1, gpu=gpus)

    had: dict[str, list[str]] = {"n1": [], "n2": []}
    for name, gpus in (("one", 1), ("pair", 2), ("other", 1)):
        _, node, devices = live.log(f"gpu-{name}").splitlines()[0].split()
        given = devices.split(":")[1].split(",")
        assert len(given) == gpus
        had[node] += given
    for node, given in had.items():
        assert len(set(given)) == len(given), node
    assert live.log("gpu-none").splitlines()[0].endswith("gpus::")


def test_a_gpu_that_a_job_leaves_is_given_to_the_next(live: Live) -> None:
    live.runs("all-gpus", f"echo gpus:$CUDA_VISIBLE_DEVICES; {SLEEPS}", cpu=1, gpu=3)
    live.shell("after-all", "echo gpus:$CUDA_VISIBLE_DEVICES", cpu=1, gpu=3)
    assert live.client.job("after-all")["state"] == "pending"
    live.client.cancel("all-gpus")

    live.completed("after-all")
    assert live.log("after-all").splitlines()[0] == live.log("all-gpus").splitlines()[0]


def test_two_servers_cannot_have_the_same_folder(live: Live) -> None:
    with pytest.raises(Exception, match="using it already"), serving(live.data, None):
        pass


def test_a_job_outlives_the_server_and_is_found_again(live: Live) -> None:
    live.runs("endures", f"echo ready; {LET_GO}; echo done", cpu=1)
    live.stop()
    live.start()

    assert live.client.job("endures")["state"] == "running"
    live.let_go("endures")
    live.completed("endures")
    assert (live.log("endures"), live.client.job("endures")["attempt"]) == ("ready\ndone\n", 1)
    until(lambda: live.node("n1")["used"] == {})
