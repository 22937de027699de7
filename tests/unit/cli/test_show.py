"""What `cede show` prints reads back to the same document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import cede
from cede.cli.yaml_writing import WIDTH, as_yaml
from cede.doctrines.document import parse_document
from cede.model.reading import read_text
from tests.unit.cli.calls import EXAMPLES, called

Capture = pytest.CaptureFixture[str]

FILES = [*sorted(EXAMPLES.glob("*.yaml")), *sorted((Path(__file__).parents[2] / "spec" / "clusters").glob("*.json"))]

TEXTS = [
    *("", " ", "-", "- a", "a: b", "a:b", "a #b", "#", "yes", "No", "on", "null", "~", "true", "<<", "=", "...", "---"),
    *("1e3", "0x1F", "0o17", "1_000", "26.8", "1:30", "2026-01-31", ".5", "+1", "512Gi", "1h30m"),
    *("@x", "a@b", "*a", "&a", "!a", "%a", "a'b", 'a"b', "a\\b", "größe", "日本", "😀"),
    *("a\nb", "\t", "\x1b", "\x7f", "\x85", "\u2028", "\ufeff"),
]

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


def read(text: str) -> Any:
    return json.loads(json.dumps(read_text(text), default=float))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("defaults", [False, True])
def test_a_file_reads_back_to_the_same_document(path: Path, defaults: bool, capsys: Capture) -> None:
    arguments = ["--defaults"] if defaults else []
    shown = called(capsys, "show", path, *arguments)
    document = cede.load(path).to_dict(defaults=defaults)

    assert shown.code == 0
    assert parse_document(read_text(shown.out)) == parse_document(document)
    assert called(capsys, "show", path, "--json", *arguments).data == document


def test_every_text_is_text_to_us_and_to_others() -> None:
    written = as_yaml({"texts": TEXTS, **{text: [{text: text}] for text in TEXTS if text != "<<"}})

    assert read(written)["texts"] == TEXTS
    assert yaml.safe_load(written)["texts"] == TEXTS
    assert all(read(written)[text] == [{text: text}] for text in TEXTS if text != "<<")


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_any_document_reads_back(document: dict[str, Any]) -> None:
    written = as_yaml(document)

    assert written == "" if not document else read(written) == document


def test_names_and_amounts_stand_without_quotes() -> None:
    written = as_yaml({"nodes": [{"name": "n-1", "capacity": {"nvidia.com/gpu": 4, "memory": "16Gi"}}]})

    assert written == "nodes:\n  - {name: n-1, capacity: {nvidia.com/gpu: 4, memory: 16Gi}}\n"


def test_entries_too_long_for_a_line_have_a_line_for_each_key() -> None:
    long = [{"name": "w", "nodes": [f"node-{i}" for i in range(40)], "requests": {"cpu": 1}}]
    lines = as_yaml({"workloads": long}).splitlines()

    assert lines[:4] == ["workloads:", "  - name: w", "    nodes:", "      - node-0"]
    assert lines[-1] == "    requests: {cpu: 1}"
    assert max(map(len, lines)) <= WIDTH


def test_memory_is_written_as_people_write_it(capsys: Capture) -> None:
    assert "memory: 512Gi" in called(capsys, "show", EXAMPLES / "threshold.yaml").out


def test_changes_are_shown(capsys: Capture) -> None:
    found = called(
        capsys,
        "show",
        EXAMPLES / "gang.yaml",
        "--without",
        "node/node-1",
        "--set",
        "now=7",
        "--json",
        "--without",
        "small",
    ).data

    assert found["now"] == 7
    assert [node["name"] for node in found["nodes"]] == ["node-0", "node-2", "node-3"]
    assert [work.get("state", "pending") for work in found["workloads"] if work["name"] == "tuning"] == ["pending"]
