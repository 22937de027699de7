"""What preemptions cost, seen through the API: what is at stake, what a decision took into account, what was lost."""

from collections.abc import Iterator

import pytest

from tests.live.api.serving import CLUSTER, DEADLINE_S, Running, serving, until

GPUS = CLUSTER | {
    "nodes": [{"name": "n1", "capacity": {"cpu": 4, "memory": "8Gi", "gpu": 4}}],
    "queues": [{"name": "default", "settings": {"preemptible_priority": 50, "preemption_mode": "suspend"}}],
}
WHOLE = {"cpu": 4, "gpu": 4}
ONCE = 'echo ready; while [ "$CEDE_ATTEMPT" = 1 ]; do sleep 0.05; done'


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("gpus"), cluster=GPUS) as made:
        yield made


def test_the_story_of_a_victim_says_what_its_preemption_cost(gpus: Running) -> None:
    client = gpus.client()
    client.submit(["sh", "-c", ONCE], name="old", cwd="/tmp", priority=5, requests=WHOLE, requeue="always")
    until(lambda: b"ready" in b"".join(client.logs("old")))
    # What it says can be read before it is on record that it runs, and until then nothing is at stake.
    client.wait("old", DEADLINE_S, states=["running"])

    at_stake = client.why("old")["workload"]["at_stake"]
    assert at_stake is not None
    assert at_stake["lost_gpu_hours"] > 0
    # Minutes of four GPUs that worked, and of a start that counts once here and for each GPU there.
    assert 0 < at_stake["cost"] <= at_stake["lost_gpu_hours"] * 60 + 1e-3
    assert client.job("old")["at_stake"] is not None

    client.submit(["true"], name="urgent", cwd="/tmp", priority=90, requests=WHOLE)
    assert client.wait("urgent", DEADLINE_S)["state"] == "completed"
    assert client.wait("old", DEADLINE_S)["state"] == "completed"

    told = client.why("old")
    (decision,) = [one["decision"] for one in told["story"] if one["decision"] and one["decision"]["victims"]]
    (victim,) = decision["decision"]["victims"]
    (left,) = [one["event"] for one in told["story"] if one["event"] and one["event"]["lost_gpu_hours"]]
    assert victim["cost"] > 0
    assert victim["lost_gpu_hours"] > 0
    assert (left["after"], left["claimant"]) == ("pending", "urgent")
    assert told["lost_gpu_hours"] == pytest.approx(left["lost_gpu_hours"])
    assert told["workload"]["at_stake"] is None
    assert any("it gives way to urgent at the cost of" in one["sentence"] for one in told["story"])
    assert any(one["sentence"].endswith("lost") for one in told["story"])
    urgent = [one["sentence"] for one in client.why("urgent")["story"]]
    assert any("evicting old at the cost of" in sentence for sentence in urgent)
    assert client.why("urgent")["lost_gpu_hours"] == 0

    (line,) = [each for each in client.metrics().splitlines() if each.startswith("cede_lost_gpu_hours_total{")]
    assert 'queue="default",reason="backendai.lower-priority"' in line
    assert float(line.rsplit(" ", 1)[1]) == pytest.approx(told["lost_gpu_hours"])
