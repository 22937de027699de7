"""kill -9 at any moment of a preemption under Lattice: nothing is lost, run twice or preempted twice."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.live.scenarios.dying import PATIENT_S, Child, child
from tests.live.scenarios.lattices import lattice_of
from tests.live.scenarios.scripts import SAVES, SAVING
from tests.live.scenarios.twin import assert_replays

pytestmark = pytest.mark.slow

HOMES = {"lent-1": "hpc_batch", "lent-2": "hpc_batch"}
TIMES = {"checkpoint_timeout": 30, "grace_period": 30}
CLAIMS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("priority", {"queue": "ml_training", "priority": 9, "constraints": {"nodes": ["n1", "n2"]}}),
    ("reclaim", {"queue": "hpc_batch", "priority": 0, "constraints": {"nodes": ["lent-1", "lent-2"]}}),
    ("sensitive", {"queue": "ml_training", "sensitive": True, "constraints": {"nodes": ["n1", "n2"]}}),
)


def evidence(where: Path, name: str) -> str:
    """A program that saves when asked, and writes down each time that it begins or is told to go."""
    note = f'echo {name} $CEDE_ATTEMPT $CEDE_RESUME >>"{where}/'
    return f"{note}begun\"; trap '{note}told\"; exit 0' TERM; {SAVING}"


def noted(where: Path, what: str) -> list[tuple[str, ...]]:
    """Name, attempt and resume flag, as the programs wrote them."""
    path = where / what
    return [tuple(line.split()) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize(("reason", "claim"), CLAIMS, ids=[reason for reason, _ in CLAIMS])
def test_victims_leave_once_and_come_back_once_whenever_the_server_dies(
    tmp_path: Path, reason: str, claim: dict[str, Any]
) -> None:
    chance = random.Random(reason)
    queues = ("hpc_batch", "ml_training")
    with child(tmp_path, lattice_of("n1", "n2", *HOMES, homes=HOMES, queues=queues, value_rule=False)) as live:
        victims = [f"victim-{node}" for node in claim["constraints"]["nodes"]]
        for name, node in zip(victims, claim["constraints"]["nodes"], strict=True):
            here: dict[str, Any] = {"constraints": {"nodes": [node]}, "times": TIMES, "checkpoint": SAVES}
            live.runs(name, evidence(tmp_path, name), queue="ml_training", priority=2, **here)
        first = [live.client.job(name)["submitted"] for name in victims]
        for round_ in range(1, 3):
            _taken_and_given_back(live, f"claim-{round_}", claim, victims, chance)
            jobs = [live.client.job(name) for name in victims]
            assert [(one["preempted"], one["attempt"], one["requeues"]) for one in jobs] == [
                (round_, round_ + 1, 0)
            ] * 2
        assert [live.client.job(name)["submitted"] for name in victims] == first

        made = [one["decision"]["victims"] for one in live.client.decisions() if one["victims"]]
        assert [sorted((one["workload"], one["reason"]) for one in each) for each in made] == [
            [(name, reason) for name in victims] for _ in range(2)
        ]
        begun = [(name, str(attempt), str(int(attempt > 1))) for name in victims for attempt in range(1, 4)]
        assert sorted(noted(tmp_path, "begun")) == begun
        assert sorted(noted(tmp_path, "told")) == [one for one in begun if one[1] != "3"]
        assert live.client.audit_chain()["intact"]
    assert_replays(tmp_path / "data")


def _taken_and_given_back(
    live: Child, name: str, claim: dict[str, Any], victims: list[str], chance: random.Random
) -> None:
    """A claimant takes the nodes and ends, while the server dies again and again."""
    live.submit(name, "sleep", "0.3", members=2, **claim)
    for _ in range(2):
        time.sleep(chance.uniform(0, 0.25))  # the moment is what the test is about
        live.kill()
        live.start()
    assert live.completed(name, within=PATIENT_S)["attempt"] == 1
    for victim in victims:
        live.said(victim, "ready", attempt=live.client.job(victim)["preempted"] + 1, within=PATIENT_S)
        live.wait(victim, "running", within=PATIENT_S)
