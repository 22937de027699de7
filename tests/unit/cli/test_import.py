"""`cede import`, and Kubernetes objects given to the other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import cede
from tests.unit.cli.calls import EXAMPLES, called
from tests.unit.cli.calls import cede as run

Capture = pytest.CaptureFixture[str]

TEAM_A = EXAMPLES / "kueue" / "team-a.yaml"
HIERARCHY = EXAMPLES / "kueue" / "hierarchy.yaml"
STOPPED = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec: {admissionChecks: [budget]}
"""


def test_notes_go_to_standard_error_a_line_each(capsys: Capture) -> None:
    ran = called(capsys, "import", "kueue", HIERARCHY)

    assert ran.code == 0
    assert ran.err.splitlines() == [
        "note: ClusterQueue vision: spec.admissionChecks: a plan does not wait for admission checks",
        "note: Workload vision/job-eval-19fe0: it has finished, and is left out",
    ]


def test_notes_can_be_had_as_json(capsys: Capture, tmp_path: Path) -> None:
    called(capsys, "import", "kueue", HIERARCHY, "--notes", tmp_path / "notes.json")
    first, _ = json.loads((tmp_path / "notes.json").read_text(encoding="utf-8"))

    assert first == {
        "file": str(HIERARCHY),
        "kind": "ClusterQueue",
        "name": "vision",
        "path": "spec.admissionChecks",
        "why": "a plan does not wait for admission checks",
    }


def test_the_file_can_be_json(capsys: Capture) -> None:
    assert called(capsys, "import", "kueue", TEAM_A, "--json").data == cede.load(TEAM_A).to_dict()


def test_the_file_can_be_written_to_a_place(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "kueue", TEAM_A, "--out", tmp_path / "cluster.yaml")

    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert cede.load(tmp_path / "cluster.yaml").to_dict() == cede.load(TEAM_A).to_dict()


def test_a_place_that_cannot_be_written_is_told(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "kueue", TEAM_A, "--out", tmp_path / "no" / "where")

    assert (ran.code, ran.err) == (2, f"error: {tmp_path}/no/where: cannot be written: no such file or directory\n")


def test_options_change_the_document(capsys: Capture) -> None:
    found = called(capsys, "import", "kueue", TEAM_A, "--json", "--fair-sharing", "--now", "2026-03-03T00:00:00Z").data

    assert found["doctrine"] == {"name": "kueue", "preemption": "FairSharing"}
    assert found["now"] == "2026-03-03T00:00:00Z"


def test_several_files_and_standard_input_are_read_together(tmp_path: Path) -> None:
    documents = TEAM_A.read_text(encoding="utf-8").split("---\n")
    (tmp_path / "some.yaml").write_text("---\n".join(documents[:3]))
    ran = run("import", "kueue", tmp_path / "some.yaml", "-", given="---\n".join(documents[3:]).encode())

    assert ran.out == run("import", "kueue", TEAM_A).out


def test_standard_input_can_be_read_once() -> None:
    assert run("import", "kueue", "-", "-").err == "error: -: standard input can be read once only\n"


def test_what_is_wrong_names_the_file_the_object_and_the_path(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "objects.yaml"
    path.write_text(TEAM_A.read_text(encoding="utf-8").replace("nominalQuota: 64Gi", "nominalQuota: 64GB"))
    where = "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota"
    problem = "'64GB' is no quantity; write a number or a string like 500m or 16Gi"

    assert called(capsys, "import", "kueue", path).err.splitlines() == [
        "error: 2 problems",
        f"  {path}: ClusterQueue team-a-queue: {where}: {problem}",
        f"  {path}: ClusterQueue non-preemptive-queue: {where}: {problem}",
    ]
    ran = called(capsys, "plan", path)
    assert ran.code == 2
    assert ran.err.splitlines()[:2] == [
        f"error: 2 problems in {path}",
        f"  ClusterQueue team-a-queue: {where}: {problem}",
    ]


def test_a_cluster_file_is_nothing_to_import(capsys: Capture) -> None:
    ran = called(capsys, "import", "kueue", EXAMPLES / "gang.yaml")

    assert (ran.code, ran.out) == (2, "")
    assert "an object is no Kubernetes object, which has apiVersion and kind" in ran.err


@pytest.mark.parametrize("command", ["show", "lint"])
def test_other_commands_read_objects_and_count_what_was_lost(command: str, capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(STOPPED)
    ran = called(capsys, command, path)

    assert ran.code == 0
    assert ran.err == f"note: 1 thing could not be carried over; `cede import kueue {path}` names them\n"


def test_changes_can_be_made_to_what_objects_describe(capsys: Capture) -> None:
    found = called(
        capsys, "show", TEAM_A, "--json", "--set", "queues[team-a-queue].guaranteed.cpu@default-flavor=32"
    ).data

    assert found["queues"][0]["guaranteed"]["cpu@default-flavor"] == 32


def test_objects_cannot_be_added_to_a_file(capsys: Capture) -> None:
    ran = called(capsys, "show", EXAMPLES / "gang.yaml", "--add", TEAM_A)

    assert ran.code == 2
    assert "Kubernetes objects cannot be added (make one file of all objects with `cede import kueue`)" in ran.err


def test_in_python_the_notes_are_with_the_cluster() -> None:
    assert [note.path for note in cede.load(HIERARCHY).notes] == ["spec.admissionChecks", ""]
    assert cede.load(TEAM_A).notes == ()
