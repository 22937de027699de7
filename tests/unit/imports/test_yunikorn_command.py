"""`cede import yunikorn`, and what it makes of the examples."""

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from tests.unit.cli.calls import EXAMPLES, called
from tests.unit.cli.calls import cede as run

Capture = pytest.CaptureFixture[str]

FOLDER = EXAMPLES / "yunikorn"
QUEUES = FOLDER / "queues.yaml"
STATE = ("--state", str(FOLDER / "fullstatedump.json"))
PODS = ("--objects", str(FOLDER / "pods.json"))
CLUSTER = FOLDER / "queues.cluster.yaml"


def test_the_import_gives_the_file_that_stands_beside_the_configuration(capsys: Capture) -> None:
    ran = called(capsys, "import", "yunikorn", QUEUES, *STATE, *PODS)

    assert ran.code == 0
    assert ran.out == CLUSTER.read_text(encoding="utf-8")


def test_that_file_is_in_its_normal_form(capsys: Capture) -> None:
    assert called(capsys, "show", CLUSTER).out == CLUSTER.read_text(encoding="utf-8")


def test_the_configuration_alone_gives_the_queues(capsys: Capture) -> None:
    found = called(capsys, "import", "yunikorn", QUEUES, "--json").data
    whole: dict[str, Any] = cede.load(CLUSTER).to_dict()

    assert list(found) == ["cede", "doctrine", "queues"]
    assert found["queues"] == [one for one in whole["queues"] if one["name"] != "root.users.ann"]


def test_what_is_not_carried_over_is_named_on_standard_error_and_as_json(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "yunikorn", QUEUES, *STATE, *PODS, "--notes", tmp_path / "notes.json")
    listed = json.loads((tmp_path / "notes.json").read_text(encoding="utf-8"))

    assert len(ran.err.splitlines()) == len(listed) == 7
    assert ran.err.splitlines()[-1] == "note: application spark-old: it has finished, and is left out"
    assert listed[3] == {
        "file": str(QUEUES),
        "kind": "queue",
        "name": "root.tenant-2.queue-2",
        "path": 'properties["preemption.delay"]',
        "why": "'soon' is no duration; write it like 30s, 1h15m or 500ms; YuniKorn then takes 30s",
    }


def test_options_change_the_document(capsys: Capture, tmp_path: Path) -> None:
    options = ("--edition", "laws", "--now", "2026-03-03T00:00:00Z", "--out", tmp_path / "c.yaml")
    ran = called(capsys, "import", "yunikorn", QUEUES, *STATE, *PODS, *options)
    found: dict[str, Any] = cede.load(tmp_path / "c.yaml").to_dict()

    assert (ran.code, ran.out) == (0, "")
    assert (found["doctrine"]["edition"], found["now"]) == ("laws", "2026-03-03T00:00:00Z")


def test_what_yunikorn_would_refuse_ends_with_2_and_its_place(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "queues.yaml"
    text = QUEUES.read_text(encoding="utf-8")
    path.write_text(text.replace("max: {vcore: 32, memory: 128Gi}", "max: {vcore: 12, memory: 128Gi}"))
    ran = called(capsys, "import", "yunikorn", path)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [
        "error: 2 problems",
        f"  {path}: queue root.tenant-1: resources.guaranteed.vcore: 16 is more than its max, 12",
        f"  {path}: queue root.tenant-1: resources.max.vcore: the queues below are guaranteed 16, more than this 12",
    ]


def test_a_configuration_can_come_from_standard_input() -> None:
    ran = run("import", "yunikorn", "-", given=QUEUES.read_bytes())

    assert ran.code == 0
    assert ran.out == run("import", "yunikorn", QUEUES).out
    assert run("import", "yunikorn", "-", "--state", "-").err == "error: -: standard input can be read once only\n"


def decisions(name: str, doctrine: str | None = None) -> dict[str, tuple[str, set[str]]]:
    """Of each workload what becomes of it, and its victims."""
    document: dict[str, Any] = cede.load(FOLDER / name).to_dict()
    if doctrine is not None:
        document["doctrine"]["edition"] = doctrine
    plan = cede.plan(cede.load(document)).to_dict()
    return {
        one["workload"]: (one["action"], {victim["workload"] for victim in one.get("victims", ())})
        for one in plan["decisions"]
    }


@pytest.mark.parametrize("edition", ["1.9", "laws"])
def test_a_tenant_takes_back_from_its_own_queue_and_spares_driver_and_opt_out(edition: str) -> None:
    assert decisions("queues.cluster.yaml", edition) == {
        "lab/reports-1": ("preempt", {"lab/etl-exec-2", "lab/etl-exec-3"})
    }


def test_fences_are_as_the_design_draws_them() -> None:
    assert decisions("fences.yaml") == {
        "a-in": ("wait", set()),
        "b-in": ("preempt", {"c-2"}),
        "one-in": ("preempt", {"two-3"}),
        "system-in": ("preempt", {"two-2"}),
    }


def test_law_2_is_kept_by_the_laws_and_not_by_the_release() -> None:
    assert decisions("law-2.yaml") == {"prod-in": ("preempt", {"test-big"})}
    assert decisions("law-2.yaml", "laws") == {"prod-in": ("preempt", {"test-2"})}


FLOWS = {"replicasets-1.yaml": ["test-4"], "replicasets-2.yaml": [], "replicasets-3.yaml": ["test-5", "test-4"]}


@pytest.mark.parametrize(("name", "victims"), FLOWS.items())
def test_replica_sets_come_to_rest_after_so_many_preemptions(name: str, victims: list[str]) -> None:
    found = cede.settle(cede.load(FOLDER / name)).to_dict()

    assert found["settled"]
    assert [one["victim"] for one in found["preemptions"]] == victims
