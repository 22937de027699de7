"""The pages about Lattice say what the code does: every rule that keeps work out, and the weights of its scores."""

import re

import pytest

from cede.doctrines.catalog import find
from cede.doctrines.lattice.candidates import REASONS
from cede.doctrines.lattice.score import NAMES, weights
from cede.doctrines.lattice.settings import TYPES
from docs.blocks import ROOT

GUIDE = (ROOT / "docs/guides/lattice.md").read_text(encoding="utf-8")
CONCEPT = (ROOT / "docs/concepts/lattice.md").read_text(encoding="utf-8")


def test_the_guide_explains_every_reason_and_every_rule_that_keeps_a_workload_out_or_warns() -> None:
    rows = {name for line in GUIDE.splitlines() if line.startswith("| `") for name in re.findall(r"`([^`]+)`", line)}

    assert {rule.id for rule in find("lattice").rules if rule.kind in ("waits", "refuses", "warns")} - rows == set()
    assert set(REASONS.values()) - rows == set()


@pytest.mark.parametrize("at", range(len(TYPES) + 1), ids=[*TYPES, "none"])
def test_the_table_of_weights_is_that_of_the_code(at: int) -> None:
    name = [*(f"`{one}`" for one in TYPES), "none"][at]
    [line] = [
        line for line in CONCEPT.splitlines() if line.startswith(f"| {name} |") and line.count("|") == len(NAMES) + 2
    ]
    told = [float(cell) for cell in line.strip("| ").split(" | ")[1:]]

    assert [one / sum(told) for one in told] == pytest.approx(list(weights(normalized=True)[at]), abs=1e-12)


def test_every_example_is_shown_in_the_guide() -> None:
    examples = {path.name for path in (ROOT / "examples/lattice").glob("*.yaml")}

    assert examples == set(re.findall(r"examples/lattice/([a-z]+\.yaml)", GUIDE))
