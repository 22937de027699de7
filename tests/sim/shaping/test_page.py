"""The page about shaping names every key, and its fault file can be read."""

from __future__ import annotations

from pathlib import Path

from cede.sim.faults import _Entry, read_faults
from cede.sim.traces.derived import DERIVED
from cede.sim.traces.mapping_file import READABLE, TARGETS, _Rule
from docs.blocks import ROOT, blocks_of

PAGE = (ROOT / "docs" / "reference" / "mapping.md").read_text(encoding="utf-8")


def test_every_column_and_every_key_is_on_the_page() -> None:
    keys = [info.alias or name for model in (_Rule, _Entry) for name, info in model.model_fields.items()]

    assert [key for key in (*keys, *TARGETS, *READABLE) if f"`{key}`" not in PAGE] == []
    assert [name for name, meaning in DERIVED.items() if f"| `{name}` | {meaning} |" not in PAGE] == []


def test_the_fault_file_of_the_page_can_be_read(tmp_path: Path) -> None:
    [block] = [block for block in blocks_of(PAGE) if block.name == "faults.yaml"]
    (tmp_path / block.name).write_text(block.body, encoding="utf-8")

    found = read_faults(tmp_path / block.name, [f"gpu-{number}" for number in range(8)])

    assert [fault.state for fault in found] == ["down", "ready", *["cordoned"] * 3, *["ready"] * 8]
