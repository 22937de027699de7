"""What a server recorded, told to a fresh driver: whether the same came of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cede.engine.drive.options import LIVE, DriverOptions
from cede.engine.drive.orders import Order
from cede.engine.drive.replay import replay
from cede.engine.drive.step import Transition
from cede.live.store import codec
from cede.live.store.decisions import packed
from cede.live.store.records import DecisionRecord
from cede.live.store.store import Store

PAGE = 500
Decided = tuple[int, int, str, str, str, str | None]


def assert_replays(data: Path, ways: DriverOptions = LIVE) -> list[Order]:
    """The orders that follow once more from what the store of this folder recorded.

    Every transition, every decision with the cluster it was made from, and the last record of every workload are the
    same as those stored.
    """
    store = Store.open(f"sqlite:///{data / 'cede.db'}")
    try:
        ((_, document),) = store.configurations()
        orders: list[Order] = []
        told: list[Transition] = []
        decided: list[Decided] = []
        records: dict[str, str] = {}
        for step in replay(document, store.steps(), ways):
            orders += step.orders
            told += step.transitions
            records |= {name: codec.dump_job(job) for name, job in step.changed.items()}
            for made in step.decisions:
                digest = None if made.cluster is None else packed(made.cluster)[0]
                decided.append(
                    (made.number, made.at, made.doctrine, made.edition, codec.dump_decision(made.decision), digest)
                )
        for again, stored in zip(told, recorded := list(_told(store)), strict=False):
            assert again == stored
        assert len(told) == len(recorded)
        assert decided == [_decided(one) for one in _decisions(store)]
        stored_jobs = {record.job.name: codec.dump_job(record.job) for record in store.workloads(limit=10_000)}
        assert records == stored_jobs
        return orders
    finally:
        store.close()


def _told(store: Store) -> Iterator[Transition]:
    after = 0
    while page := store.events(after=after, limit=PAGE):
        yield from (event.transition for event in page)
        after = page[-1].sequence


def _decisions(store: Store) -> Iterator[DecisionRecord]:
    after = 0
    while page := store.decisions(after=after, limit=PAGE):
        yield from page
        after = page[-1].number


def _decided(one: DecisionRecord) -> Decided:
    digest = one.cluster_hash if one.victims else None
    return one.number, one.at, one.doctrine, one.edition, codec.dump_decision(one.decision), digest
