"""What a submission is warned of, though it is taken."""

from __future__ import annotations

import pytest

from cede.cli.live.config import rights
from cede.doctrines.document import parse_document
from cede.live.api.rules import NO_ACCOUNT
from cede.live.api.submission_checks import SubmissionChecks
from cede.model.cluster import Workload

GROUND = SubmissionChecks(
    parse_document(
        {
            "cede": 1,
            "now": "2026-01-01T00:00:00Z",
            "doctrine": "kueue",
            "nodes": [{"name": "n", "capacity": {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 2}}],
            "queues": [{"name": "default"}],
        }
    )
)
ASKED = {
    "what is there": ({"cpu": 1, "memory": 1}, True, ""),
    "a GPU where the machine has some": ({"nvidia.com/gpu": 1}, True, ""),
    "a GPU where it has none": ({"nvidia.com/gpu": 1}, False, "no GPU was found on this machine"),
    "a GPU by another name": ({"gpu": 1}, False, "no node here has gpu: it waits until one does (did you mean 'nvidia"),
    "a name that is almost right": ({"cpus": 1}, False, "it waits until one does (did you mean 'cpu'?)"),
    "what nobody has": ({"fpga": 1}, True, "no node here has fpga: it waits until one does"),
}


@pytest.mark.parametrize(("requests", "gpus", "said"), ASKED.values(), ids=ASKED.keys())
def test_a_request_for(requests: dict[str, int], gpus: bool, said: str) -> None:
    workload = Workload.model_validate({"name": "w", "queue": "default", "requests": requests})
    warnings = GROUND.warnings(workload, gpus=gpus)

    assert len(warnings) == bool(said)
    assert said in "".join(warnings)


def test_who_has_no_account_is_told_the_option_that_gives_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("LOGNAME", "root")

    assert rights(()).endswith("as --account root=root")
    assert "--account bob=ACCOUNT, as --account root=root" in NO_ACCOUNT.because(caller="bob")
