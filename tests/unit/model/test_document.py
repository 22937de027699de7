import copy
import json
from typing import Any

import pytest
from hypothesis import given

from cede.doctrines.catalog import DIALECTS
from cede.doctrines.document import parse_document
from cede.model.cluster import ClusterFile, DoctrineChoice, Workload
from cede.model.document import dump_document
from cede.model.quantities import NANO
from cede.model.times import SECOND, Instant
from tests.unit.model.documents import documents
from tests.unit.model.problems import problems_of

Document = dict[str, Any]


def test_the_smallest_document_has_every_default() -> None:
    doc = parse_document({"cede": 1})

    assert doc.now == 0
    assert doc.doctrine is None
    assert doc.topology == "group"
    assert doc.selection == "doctrine"
    assert (doc.nodes, doc.queues, doc.apps, doc.tenants, doc.policies, doc.workloads) == ([], [], [], [], [], [])


def test_a_workload_of_a_name_alone_has_every_default() -> None:
    [workload] = parse_document({"cede": 1, "workloads": [{"name": "w"}]}).workloads

    absent = ["queue", "app", "user", "project", "domain", "tenant", "priority", "job_priority", "pod_sets", "usage"]
    absent += ["nodes", "constraints", "required_node", "submitted", "started", "walltime", "checkpoint", "uid"]
    assert {key: getattr(workload, key) for key in absent} == dict.fromkeys(absent)
    assert (workload.kind, workload.state, workload.placement) == ("batch", "pending", "any")
    assert (workload.members, workload.requests, workload.size, workload.preempted) == (1, {}, 1, 0)
    assert (workload.preemptible, workload.preempts) == (True, True)
    assert (workload.exclusive, workload.originator, workload.sensitive) == (False, False, False)


def test_amounts_times_and_durations_are_exact_integers() -> None:
    doc = parse_document(
        {
            "cede": 1,
            "now": 7.5,
            "nodes": [{"name": "n", "capacity": {"cpu": "500m", "memory": "1Ki"}}],
            "workloads": [{"name": "w", "walltime": "1h30m", "submitted": -2, "checkpoint": {"time": "5m"}}],
        }
    )

    assert doc.now == 7_500_000
    assert doc.nodes[0].capacity == {"cpu": NANO // 2, "memory": 1024 * NANO}
    assert doc.workloads[0].walltime == 5400 * SECOND
    assert doc.workloads[0].submitted == -2 * SECOND
    assert doc.workloads[0].checkpoint is not None
    assert doc.workloads[0].checkpoint.time == 300 * SECOND


def test_whole_numbers_may_be_written_with_a_point() -> None:
    doc = parse_document({"cede": 1.0, "workloads": [{"name": "w", "members": 2.0, "priority": -3.0}]})

    assert (doc.cede, doc.workloads[0].members, doc.workloads[0].priority) == (1, 2, -3)
    assert type(doc.workloads[0].members) is int


def test_the_size_of_a_workload_counts_all_its_pod_sets() -> None:
    parts = [{"name": "a", "count": 1, "requests": {}}, {"name": "b", "count": 4, "requests": {}}]

    assert Workload.model_validate({"name": "w", "pod_sets": parts}).size == 5
    assert Workload.model_validate({"name": "w", "members": 3}).size == 3


def test_a_counted_node_becomes_that_many_nodes() -> None:
    doc = parse_document({"cede": 1, "nodes": [{"name": "n1", "count": 3, "labels": {"a": "b"}}, {"name": "x"}]})

    assert [node.name for node in doc.nodes] == ["n1-0", "n1-1", "n1-2", "x"]
    assert all(node.count is None for node in doc.nodes)
    assert doc.nodes[2].labels == {"a": "b"}


def test_nothing_in_a_document_changes_after_reading() -> None:
    doc = parse_document({"cede": 1, "nodes": [{"name": "n1", "count": 2}]})

    with pytest.raises(ValueError, match="frozen"):
        doc.nodes[0].name = "other"  # type: ignore[misc]


def test_reading_leaves_what_was_given_alone() -> None:
    data = {"cede": 1, "queues": [{"name": "q", "settings": {"a": {"b": [1.0, 0.5]}}}]}
    before = copy.deepcopy(data)

    doc = parse_document(data)
    doc.queues[0].settings["a"]["b"].append(3)

    assert data == before


def test_the_normal_form_has_the_contracts_order_and_only_what_was_given() -> None:
    data = {
        "workloads": [{"walltime": 5400, "requests": {"cpu": 0.5, "memory": "1Ki"}, "name": "w", "submitted": 1.5}],
        "nodes": [{"count": 2, "name": "n"}],
        "doctrine": "kueue",
        "queues": [{"settings": {}, "weight": 2.0, "name": "q"}],
        "cede": 1,
    }

    assert json.dumps(dump_document(parse_document(data))) == json.dumps(
        {
            "cede": 1,
            "doctrine": {"name": "kueue"},
            "nodes": [{"name": "n-0"}, {"name": "n-1"}],
            "queues": [{"name": "q", "weight": 2, "settings": {}}],
            "workloads": [
                {"name": "w", "requests": {"cpu": "500m", "memory": 1024}, "submitted": 1.5, "walltime": "1h30m"}
            ],
        }
    )


def test_the_normal_form_can_spell_out_the_defaults() -> None:
    doc = parse_document({"cede": 1, "doctrine": "lattice", "workloads": [{"name": "w"}], "nodes": [{"name": "n"}]})

    full = dump_document(doc, defaults=True)

    assert full["now"] == 0
    assert full["doctrine"] == {"name": "lattice", "edition": "policy"}
    assert full["nodes"] == [{"name": "n", "capacity": {}, "occupied": {}, "labels": {}, "state": "ready"}]
    assert full["workloads"] == [
        {
            "name": "w",
            "kind": "batch",
            "state": "pending",
            "members": 1,
            "requests": {},
            "exclusive": False,
            "placement": "any",
            "preemptible": True,
            "preempts": True,
            "originator": False,
            "sensitive": False,
            "preempted": 0,
        }
    ]


def test_instants_are_written_in_utc() -> None:
    data = {
        "cede": 1,
        "now": "2026-01-31T14:00:00+02:00",
        "workloads": [{"name": "w", "submitted": "2026-01-31T12:00:00Z"}],
    }

    doc = parse_document(data)

    assert isinstance(doc.now, Instant)
    assert doc.now == doc.workloads[0].submitted
    assert dump_document(doc)["now"] == "2026-01-31T12:00:00Z"


def test_a_document_may_be_put_together_from_parts() -> None:
    doc = ClusterFile(
        cede=1,
        doctrine=DoctrineChoice(name="kueue", edition="0.20", dialect=DIALECTS["kueue"]),
        workloads=[Workload(name="w", requests={"cpu": 1})],
    )

    assert doc.workloads[0].requests == {"cpu": NANO}
    assert parse_document(dump_document(doc)) == doc


def test_tuples_count_as_lists() -> None:
    group = {"resources": ("cpu",), "flavors": ("a", "b")}
    pods = ({"name": "p", "count": 2, "requests": {}},)
    data = {
        "cede": 1,
        "nodes": ({"name": "n"},),
        "queues": [{"name": "q", "resource_groups": (group,), "settings": {"a": (1, 2)}}],
        "workloads": ({"name": "w", "pod_sets": pods, "nodes": ("n", "n"), "constraints": {"nodes": ("n",)}},),
    }

    doc = parse_document(data)

    assert doc.workloads[0].nodes == ["n", "n"]
    assert doc.queues[0].settings == {"a": [1, 2]}
    assert problems_of(data | {"now": "x", "workloads": ({"name": "w", "nodes": ("m",)},)}) == [
        "workloads[0].nodes[0]: no node is called 'm'",
        "now: 'x' is no time; write a number of seconds or RFC 3339 like 2026-01-31T12:00:00Z",
    ]


@given(documents())
def test_writing_and_reading_a_document_changes_nothing(data: Document) -> None:
    doc = parse_document(data)
    written = dump_document(doc)

    again = parse_document(json.loads(json.dumps(written)))

    assert again == doc
    assert dump_document(again) == written
    assert json.dumps(dump_document(again)) == json.dumps(written)


@given(documents())
def test_spelling_out_the_defaults_changes_nothing(data: Document) -> None:
    doc = parse_document(data)

    assert parse_document(json.loads(json.dumps(dump_document(doc, defaults=True)))) == doc
