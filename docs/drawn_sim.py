"""The parts of the docs that are drawn from the replay: the measures and their definitions."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cede.sim.measures.definitions import MEASURES, NEAREST_RANK, Measure
from docs.tables import table

OF_THEM = re.compile(r" The (mean|p[0-9]+) of them\.$")
BETTER = {"low": "less", "high": "more", None: ""}


def measures() -> Mapping[str, str]:
    """Every measure with its definition; mean and percentiles of one quantity are one row."""
    folded: dict[str, list[Measure]] = {}
    for one in MEASURES:
        folded.setdefault(OF_THEM.sub("", one.says), []).append(one)
    rows = (
        (
            ", ".join(f"`{one.key}`" for one in alike),
            re.sub(r", (mean|p[0-9]+)$", "", alike[0].title) if len(alike) > 1 else alike[0].title,
            alike[0].unit,
            BETTER[alike[0].better],
            says,
        )
        for says, alike in folded.items()
    )
    return {
        "measures": "\n".join(table(("key", "measure", "unit", "better", "definition"), rows)),
        "percentiles": NEAREST_RANK,
    }
