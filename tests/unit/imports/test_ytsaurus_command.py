"""`cede import ytsaurus`, and what it makes of the examples."""

import json
from pathlib import Path
from typing import Any

import pytest

import cede
from cede.doctrines.catalog import BUILT
from cede.imports.ytsaurus.yson import read_yson
from tests.properties.ytsaurus_yson_writing import as_binary
from tests.unit.cli.calls import EXAMPLES, called
from tests.unit.cli.calls import cede as run

Capture = pytest.CaptureFixture[str]

FOLDER = EXAMPLES / "ytsaurus" / "import"
POOLS = FOLDER / "pools.yson"
NODES = ("--nodes", str(FOLDER / "nodes.yson"))
STATE = (*NODES, "--operations", str(FOLDER / "operations.json"), "--now", "2026-03-02T09:00:00Z")
CLUSTER = FOLDER / "pools.cluster.yaml"


def test_the_import_gives_the_file_that_stands_beside_the_tree(capsys: Capture) -> None:
    ran = called(capsys, "import", "ytsaurus", POOLS, *STATE)

    assert ran.code == 0
    assert ran.out == CLUSTER.read_text(encoding="utf-8")


def test_that_file_is_in_its_normal_form(capsys: Capture) -> None:
    assert called(capsys, "show", CLUSTER).out == CLUSTER.read_text(encoding="utf-8")


def test_the_tree_written_by_hand_gives_the_same(capsys: Capture) -> None:
    by_hand = called(capsys, "import", "ytsaurus", FOLDER / "pools.yaml", *NODES)
    exported = called(capsys, "import", "ytsaurus", POOLS, *NODES)

    assert by_hand.code == 0
    assert by_hand.out == exported.out
    assert by_hand.err.splitlines() == [exported.err.splitlines()[-1]]


def test_binary_yson_is_read_as_text_is(capsys: Capture, tmp_path: Path) -> None:
    binary = tmp_path / "pools.bin"
    binary.write_bytes(as_binary(read_yson(POOLS.read_bytes())))

    assert called(capsys, "import", "ytsaurus", binary).out == called(capsys, "import", "ytsaurus", POOLS).out


def test_what_is_not_carried_over_is_named_on_standard_error_and_as_json(capsys: Capture, tmp_path: Path) -> None:
    ran = called(capsys, "import", "ytsaurus", POOLS, *STATE, "--notes", tmp_path / "notes.json")
    listed = json.loads((tmp_path / "notes.json").read_text(encoding="utf-8"))

    assert len(ran.err.splitlines()) == len(listed) == 10
    assert ran.err.splitlines()[3] == "note: pool research: acl: who may use and change it is not checked here"
    assert listed[3] == {
        "file": str(POOLS),
        "kind": "pool",
        "name": "research",
        "path": "acl",
        "why": "who may use and change it is not checked here",
    }


def test_options_change_the_document(capsys: Capture, tmp_path: Path) -> None:
    several = tmp_path / "pool_trees.yson"
    several.write_text("{gpu=<config={main_resource=gpu}>{a={}};default=<config={}>{b={}}}")
    options = ("--tree", "gpu", "--edition", "docs", "--out", tmp_path / "c.yaml")
    ran = called(capsys, "import", "ytsaurus", several, *options)
    found = cede.load(tmp_path / "c.yaml").to_dict()

    assert (ran.code, ran.out) == (0, "")
    assert found["doctrine"] == {"name": "ytsaurus", "edition": "docs", "main_resource": "gpu"}
    assert found["queues"] == [{"name": "a"}]


def test_several_trees_end_with_2_and_their_names(capsys: Capture, tmp_path: Path) -> None:
    several = tmp_path / "pool_trees.yson"
    several.write_text("{gpu=<config={}>{};default=<config={}>{}}")
    ran = called(capsys, "import", "ytsaurus", several)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (f"error: --tree: {several} holds several pool trees, of which one must be named: gpu, default\n")


def test_what_is_wrong_ends_with_2_and_its_place(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "pools.yson"
    path.write_text("{a=<weight=2>\n {b=<mode=lifo;max_operation_count=x>{}}}")
    ran = called(capsys, "import", "ytsaurus", path)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"error: 2 problems\n  {path}: pool b: mode: ")

    path.write_text("{a=<weight=2\n {}}")
    assert called(capsys, "import", "ytsaurus", path).err == f"error: {path}:2:2: a ; or > should stand here\n"


def test_a_file_that_cannot_be_read_ends_with_2(capsys: Capture, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere.yson"
    ran = called(capsys, "import", "ytsaurus", nowhere)

    assert (ran.code, ran.err) == (2, f"error: {nowhere}: cannot be read: no such file or directory\n")
    assert called(capsys, "import", "ytsaurus", tmp_path).code == 2
    assert called(capsys, "import", "ytsaurus", POOLS, "--max-size", "100").err.startswith(
        f"error: {POOLS}: has {POOLS.stat().st_size} bytes, and files above 100 are not read"
    )


def test_a_tree_can_come_from_standard_input() -> None:
    ran = run("import", "ytsaurus", "-", given=POOLS.read_bytes())

    assert ran.code == 0
    assert ran.out == run("import", "ytsaurus", POOLS).out
    assert run("import", "ytsaurus", "-", "--nodes", "-").err == "error: -: standard input can be read once only\n"


if "ytsaurus" in BUILT:

    def test_what_is_promised_is_taken_back_from_who_has_more_than_its_share() -> None:
        decisions: Any = cede.plan(cede.load(CLUSTER)).to_dict()["decisions"]
        found = {one["workload"]: {victim["workload"] for victim in one.get("victims", ())} for one in decisions}

        assert found == {
            "1f2b-2-3e8-1/map-0": {"1f2a-384-4"},
            "1f2b-2-3e8-1/map-1": set(),
            "1f2b-2-3e8-1/map-2": set(),
        }
