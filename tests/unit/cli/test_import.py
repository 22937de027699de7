"""`cede import`, and Kubernetes objects given to the other commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

import cede
from tests.unit.cli.calls import EXAMPLES, Ran, called
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


def test_a_file_is_not_written_without_its_notes(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "kueue", TEAM_A, "--out", tmp_path / "a.yaml", "--notes", tmp_path / "no" / "where")

    assert (ran.code, ran.err) == (2, f"error: {tmp_path}/no/where: cannot be written: no such file or directory\n")
    assert not list(tmp_path.iterdir())


def test_the_notes_do_not_take_the_place_of_the_file(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "kueue", TEAM_A, "--out", tmp_path / "a", "--notes", f"{tmp_path}/./a")

    assert (ran.code, ran.err) == (2, "error: --notes: this is the file of --out (give another name)\n")
    assert not list(tmp_path.iterdir())


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
    problem = "'64GB' is no quantity; write 64G or 64Gi"

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
    assert ran.err == f"note: 1 thing could not be carried over; `cede import kueue {path}` names it\n"


def test_changes_can_be_made_to_what_objects_describe(capsys: Capture) -> None:
    found = called(
        capsys, "show", TEAM_A, "--json", "--set", "queues[team-a-queue].guaranteed.cpu@default-flavor=32"
    ).data

    assert found["queues"][0]["guaranteed"]["cpu@default-flavor"] == 32


WORK = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {{namespace: team-a, name: {name}}}
spec:
  queueName: {queue}
  priorityClassRef: {{group: kueue.x-k8s.io, kind: WorkloadPriorityClass, name: {priority}}}
  podSets: [{{name: main, count: 2, template: {{spec: {{containers: [{{resources: {{requests: {{cpu: 1}}}}}}]}}}}}}]
---
"""


def work(name: str = "new", queue: str = "training", priority: str = "production") -> str:
    return WORK.format(name=name, queue=queue, priority=priority)


def with_work(capsys: Capture, tmp_path: Path, text: str, *options: str, command: str = "show") -> Ran:
    """A command on the objects of team A, with the text for a file to add."""
    (tmp_path / "job.yaml").write_text(text)
    return called(capsys, command, TEAM_A, "--json", "--add", tmp_path / "job.yaml", *options)


def test_workload_objects_are_added_to_objects_and_find_what_they_refer_to(capsys: Capture, tmp_path: Path) -> None:
    before = cede.load(TEAM_A).to_dict()
    after = with_work(capsys, tmp_path, work("one") + work("two", "notebooks")).data
    added = after["workloads"][-2:]

    assert added == [
        {"name": "team-a/one", "queue": "team-a-queue", "priority": 1000, "members": 2, "requests": {"cpu": 1}},
        {"name": "team-a/two", "queue": "non-preemptive-queue", "priority": 1000, "members": 2, "requests": {"cpu": 1}},
    ]
    assert {**after, "workloads": after["workloads"][:-2]} == before


def test_a_list_of_workloads_is_added_too(capsys: Capture, tmp_path: Path) -> None:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [yaml.safe_load(work().removesuffix("---\n"))]})
    found = with_work(capsys, tmp_path, text).data

    assert found["workloads"][-1]["name"] == "team-a/new"


def test_the_short_form_is_added_to_objects_as_before(capsys: Capture, tmp_path: Path) -> None:
    entry = {"name": "new", "queue": "team-a-queue", "requests": {"cpu": 1}}

    assert with_work(capsys, tmp_path, json.dumps(entry)).data["workloads"][-1] == entry


def test_a_diff_shows_what_an_added_workload_would_do(capsys: Capture, tmp_path: Path) -> None:
    changes = with_work(capsys, tmp_path, work(), command="diff").data["changes"]

    assert [change["workload"] for change in changes] == ["team-a/new"]


def test_an_added_workload_can_replace_the_one_that_is_left_out(capsys: Capture, tmp_path: Path) -> None:
    name = "job-urgent-9a0be"
    found = with_work(capsys, tmp_path, work(name), "--without", f"team-a/{name}").data

    assert [one["members"] for one in found["workloads"] if one["name"] == f"team-a/{name}"] == [2]
    assert "is already the name of" in with_work(capsys, tmp_path, work(name)).err


def test_an_added_workload_has_no_time_where_the_objects_have_none(capsys: Capture, tmp_path: Path) -> None:
    queues = [text for text in TEAM_A.read_text(encoding="utf-8").split("---\n") if "kind: Workload\n" not in text]
    (tmp_path / "queues.yaml").write_text("---\n".join(queues))
    made = work().replace("name: new}", 'name: new, creationTimestamp: "2026-03-02T09:00:00Z"}')
    (tmp_path / "job.yaml").write_text(made)
    found = called(capsys, "show", tmp_path / "queues.yaml", "--json", "--add", tmp_path / "job.yaml").data

    assert "now" not in found
    assert "submitted" not in found["workloads"][0]


REFUSED = {
    "a Job": (
        "{apiVersion: batch/v1, kind: Job, metadata: {name: j}}",
        ": Job default/j is no Workload, and only Workloads can be added (give the Workload that Kueue makes of it, "
        "or write {name: NAME, queue: QUEUE, priority: 0, requests: {cpu: 1}})",
    ),
    "a queue": (
        "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: lq}, spec: {clusterQueue: q}}",
        ": LocalQueue default/lq is no Workload, and only Workloads can be added "
        "(put it into the file of the cluster's objects)",
    ),
    "work for a queue that is not there": (
        work(queue="nowhere"),
        ": Workload team-a/new: spec.queueName: the LocalQueue team-a/nowhere was not given, so its queue is not "
        "known; it is left out",
    ),
    "work that has finished": (
        work().removesuffix("---\n") + 'status: {conditions: [{type: Finished, status: "True"}]}',
        ": Workload team-a/new: it has finished, and is left out",
    ),
    "work with a wrong value": (
        work().replace("  queueName", "  priority: high\n  queueName"),
        ": Workload team-a/new: spec.priority: 'high' is no whole number",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_added_is_told(text: str, words: str, capsys: Capture, tmp_path: Path) -> None:
    ran = with_work(capsys, tmp_path, text)

    assert (ran.code, ran.err) == (2, f"error: --add {tmp_path}/job.yaml{words}\n")


def test_objects_cannot_be_added_to_a_cluster_file(capsys: Capture) -> None:
    ran = called(capsys, "show", EXAMPLES / "gang.yaml", "--add", TEAM_A)

    assert ran.code == 2
    assert ran.err == (
        f"error: --add {TEAM_A}: Kubernetes objects cannot be added to a cluster file "
        "(write a workload as {name: NAME, queue: QUEUE, priority: 0, requests: {cpu: 1}})\n"
    )


CHECKED = STOPPED + "---\n"
LOSSES = {
    "one workload": (work(), "1 workload was left out; `{}` names it"),
    "two": (work("a") + work("b"), "2 workloads were left out; `{}` names them"),
    "a workload and something else": (
        CHECKED + work(),
        "1 workload was left out and 1 other thing could not be carried over; `{}` names them",
    ),
    "several of both": (
        CHECKED + CHECKED.replace("name: q", "name: r") + work("a") + work("b"),
        "2 workloads were left out and 2 other things could not be carried over; `{}` names them",
    ),
}


@pytest.mark.parametrize(("text", "words"), LOSSES.values(), ids=LOSSES.keys())
def test_workloads_that_were_left_out_are_told_apart(text: str, words: str, capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "objects.yaml"
    path.write_text(text)

    assert called(capsys, "plan", path).err == f"note: {words.format(f'cede import kueue {path}')}\n"


def test_finished_work_is_no_loss(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "objects.yaml"
    path.write_text(work().removesuffix("---\n") + 'status: {conditions: [{type: Finished, status: "True"}]}')

    assert called(capsys, "plan", path).err == ""


def test_what_was_lost_of_an_added_file_is_counted_and_its_name_told(capsys: Capture, tmp_path: Path) -> None:
    ran = with_work(capsys, tmp_path, work(priority="unheard-of"))

    command = f"cede import kueue {TEAM_A} {tmp_path}/job.yaml"
    assert ran.err == f"note: 1 thing could not be carried over; `{command}` names it\n"


def test_in_python_the_notes_are_with_the_cluster() -> None:
    assert [note.path for note in cede.load(HIERARCHY).notes] == ["spec.admissionChecks", ""]
    assert cede.load(TEAM_A).notes == ()


def test_a_plan_names_the_keys_that_are_perhaps_misspelled(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "objects.yaml"
    path.write_text(TEAM_A.read_text(encoding="utf-8").replace("namespaceSelector", "namespaceSelectr"))
    ran = called(capsys, "plan", path)

    assert ran.code == 0
    assert "warning: ClusterQueue team-a-queue" in ran.err
    assert ": spec.namespaceSelectr: Cede does not know this field (did you mean 'namespaceSelector'?)\n" in ran.err


def test_a_plan_names_resources_that_are_almost_called_so(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(
        "cede: 1\ndoctrine: backendai\nnodes: [{name: n, capacity: {cpu: 4, gpu: 1}}]\nqueues: [{name: q}]\n"
        "workloads: [{name: w, queue: q, requests: {gpus: 1}}]\n"
    )

    assert called(capsys, "plan", path).err == "warning: workloads[w]: no node has gpus (did you mean 'gpu'?)\n"
