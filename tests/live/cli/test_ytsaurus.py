"""Commands against a server under YTsaurus: allocations of one operation, and whose pool starves."""

from __future__ import annotations

import json
from pathlib import Path

from tests.live.cli.serving import served, until

CLUSTER = {
    "cede": 1,
    "doctrine": {"name": "ytsaurus", "fair_share_starvation_timeout": 1, "preemptive_scheduling_backoff": 0.1},
    "nodes": [{"name": "n1", "capacity": {"cpu": 8}}],
    "queues": [{"name": "a"}, {"name": "b"}],
}


def test_of_one_operation_what_lies_beyond_its_share_goes(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(CLUSTER))
    with served(tmp_path / "data", file) as server:
        for name in ("old", "new"):
            made = server.run(
                "submit", "--name", name, "--queue", "a", "--app", "exp", "--cpu", "4", "--", "sleep", "600"
            )
            assert f"{name}  starting" in made.out
        server.run("submit", "--name", "starving", "--queue", "b", "--cpu", "4", "--", "sleep", "600")

        until(lambda: server.client.job("starving")["state"] == "running")
        assert [server.client.job(name)["preempted"] for name in ("old", "new")] == [0, 1]
        refused = server.run("submit", "--queue", "a", "--app", "", "--", "true")
        assert (refused.code, refused.err.partition(": ")[2][:6]) == (2, "--app:")
