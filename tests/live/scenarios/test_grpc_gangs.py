"""Gangs whose members answer over gRPC, each for itself: what is done of them, and what is left to do."""

import sys
from pathlib import Path

import pytest

from tests.live.serving import Live, cluster_of, serving, until

pytestmark = pytest.mark.slow

MEMBERS = """
import sys, time
from cede.checkpoint import listening
with listening() as ck:
    print("ready", ck.attempt, flush=True)
    go = ck.directory / f"go-{ck.rank}"
    if ck.rank == 1 and sys.argv[1] == "ends":
        sys.exit()
    while not ck.wait(60):
        pass
    print("heard", flush=True)
    while ck.rank == 1 and not go.exists():
        time.sleep(0.02)
    ck.done()
    print("saved", flush=True)
    if sys.argv[2] == "stays":
        time.sleep(300)
"""


def start(live: Live, *how: str) -> None:
    given = {"checkpoint": {"mode": "manual", "protocol": "grpc"}, "times": {"checkpoint_timeout": 60}}
    live.submit("gang", sys.executable, "-c", MEMBERS, *how, members=2, cpu=2, **given)
    for member in (0, 1):
        live.said("gang", "ready 1", member=member)


def has_ended(live: Live, member: int) -> None:
    until((live.data / "jobs" / "gang" / "attempts" / "1" / str(member) / "exit.json").exists)


def goes_on(live: Live, urgent: str) -> None:
    """It made way with its checkpoint, and did not complete."""
    live.happened("gang", "suspend")
    assert live.signals("gang").count("saved") == 1
    live.client.cancel(urgent)
    assert live.said("gang", "ready 2")
    live.client.cancel("gang")


@pytest.mark.parametrize("how", ["leaves", "stays"])
def test_a_gang_has_left_if_one_member_did_and_the_other_had_ended(tmp_path: Path, how: str) -> None:
    """`stays`: the one that saved waits until it is told to go."""
    with serving(tmp_path, cluster_of("n1")) as live:
        start(live, "ends", how)
        has_ended(live, 1)
        goes_on(live, live.preempt("gang"))


@pytest.mark.parametrize("how", ["leaves", "stays"])
def test_a_gang_has_left_if_its_members_answered_different_servers(tmp_path: Path, how: str) -> None:
    with serving(tmp_path, cluster_of("n1")) as live:
        start(live, "both", how)
        urgent = live.preempt("gang")
        live.said("gang", "saved", member=0)
        live.said("gang", "heard", member=1)
        if how == "leaves":
            has_ended(live, 0)
        live.stop()
        live.start()
        (live.data / "jobs" / "gang" / "checkpoint" / "go-1").touch()
        goes_on(live, urgent)
