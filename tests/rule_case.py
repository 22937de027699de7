"""What a case of a rule is: a cluster in which the rule fires, and the sentence that it gives there."""

from __future__ import annotations

from dataclasses import dataclass

import cede


@dataclass(frozen=True)
class Case:
    """A cluster, the workload that is decided, and the sentence about `about` (the decision itself if None)."""

    cluster: cede.Cluster
    said: str
    about: str | None = None
    decided: str = "in"


Order = tuple[cede.Cluster, list[str]]
"""A cluster, and who comes before whom in it."""
