"""A recorded run once more: a fresh driver that is told the same facts at the same times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from cede.engine.drive.driver import Driver
from cede.engine.drive.facts import Fact
from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.step import Step
from cede.model.cluster import ClusterFile


def replay(
    document: ClusterFile, steps: Iterable[tuple[int, Sequence[Fact]]], ways: DriverOptions = LIVE
) -> Iterator[Step]:
    """The steps that these facts lead to on this cluster, each as it was when it happened.

    The document has no workloads: they come with the facts. Look at a step before asking for the next, for its
    records go on to change.
    """
    driver: Driver | None = None
    for at, facts in steps:
        driver = driver or Driver(document, at, ways)
        yield driver.feed(at, facts)
