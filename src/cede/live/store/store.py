"""The store: one writer and many readers, each seeing whole transactions only."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, Engine

from cede.engine.drive.facts import Fact
from cede.live.lineage import Lineage, Stamp
from cede.live.store import chain, decisions, history, identity, reading, retention, tokens, writing
from cede.live.store.engines import migrate, open_engines
from cede.live.store.errors import NewerError, StaleError, StoreError, TakenError, UnknownError, in_our_words
from cede.live.store.reading import Viewer
from cede.live.store.records import (
    AuditEntry,
    AuditRequest,
    Chain,
    DecisionRecord,
    Entry,
    Event,
    Named,
    Pruned,
    Record,
    Saved,
    SavedClock,
    Story,
    Token,
)
from cede.model.cluster import ClusterFile
from cede.model.lifecycle import Phase

__all__ = [
    "AuditEntry",
    "AuditRequest",
    "Chain",
    "DecisionRecord",
    "Entry",
    "Event",
    "Named",
    "NewerError",
    "Pruned",
    "Record",
    "Saved",
    "StaleError",
    "Store",
    "StoreError",
    "Story",
    "TakenError",
    "Token",
    "UnknownError",
]

STEPS_AT_ONCE = 500


class Store:
    """Every method may be called from any thread. Those that write take turns; those that read never wait for them."""

    def __init__(self, writer: Engine, reader: Engine) -> None:
        self._writer = writer
        self._reader = reader
        self._turn = threading.Lock()
        self.path = Path(writer.url.database or "")
        self._seen: identity.HighWaterMark | None = None
        self._inode = 0

    @classmethod
    def open(cls, url: str) -> Store:
        """The store at `sqlite:////path/cede.db`, made or brought to the present revision if need be."""
        writer, reader = open_engines(url)
        store = cls(writer, reader)
        try:
            migrate(writer)
            with store._writes() as connection:
                store.lineage = identity.read_lineage(connection)
            store._inode = store.path.stat().st_ino
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        if self._seen is not None:
            self._seen.close()
            self._seen = None
        self._reader.dispose()
        self._writer.dispose()

    @contextmanager
    def _writes(self) -> Iterator[Connection]:
        with (
            self._turn,
            in_our_words("the store did not take it", self.path),
            self._writer.begin() as connection,
        ):
            yield connection

    @contextmanager
    def _reads(self) -> Iterator[Connection]:
        with in_our_words("the store cannot be read", self.path), self._reader.connect() as connection:
            yield connection

    lineage: Lineage
    """Which store this is, and what it has lost, as of when it was opened, compared or acknowledged."""

    def compare(self, at: int) -> Lineage:
        """Look whether this is the store that was here before, as far as it had come, and remember from now on how far
        it comes; for the one process that writes."""
        self._seen = self._seen or identity.HighWaterMark(self.path)
        with self._writes() as connection:
            self.lineage = identity.compare(connection, self._seen.read(), at)
        self._seen.write(self.lineage.stamp)
        return self.lineage

    def trouble(self) -> str:
        """What is wrong with the file, though it may not have been noticed in writing; empty if nothing is."""
        try:
            status = self.path.stat()
        except OSError:
            return f"{self.path} was moved or deleted while it is in use"
        if self._inode not in (0, status.st_ino):
            return f"{self.path} was replaced while it is in use: what is written goes to the former one"
        return ""

    def acknowledge(self) -> None:
        """What is missing is known to somebody, and is not told any more."""
        with self._writes() as connection:
            identity.acknowledge(connection)
            self.lineage = identity.read_lineage(connection)

    @property
    def stamp(self) -> Stamp:
        """This store, as far as it has come."""
        return self.lineage.stamp

    def known(self, names: Collection[str]) -> frozenset[str]:
        """Those of these workloads, a few hundred at most, that are on record, ended or not."""
        with self._reads() as connection:
            return reading.known(connection, names)

    def _came_to(self, version: int) -> int:
        self.lineage = replace(self.lineage, stamp=self.lineage.stamp._replace(version=version))
        if self._seen is not None:
            self._seen.write(self.lineage.stamp)
        return version

    def load(self) -> Saved:
        """What a driver goes on with."""
        with self._reads() as connection:
            return reading.load(connection)

    def load_clock(self) -> SavedClock:
        """What the scheduler's clock goes on from."""
        with self._reads() as connection:
            return reading.load_clock(connection)

    def configure(self, document: ClusterFile) -> int:
        """Keeps the cluster without its workloads; the new version, or the present one if nothing changed."""
        with self._writes() as connection:
            version = writing.configure(connection, document)
        return self._came_to(version)

    def configurations(self) -> tuple[tuple[int, ClusterFile], ...]:
        """Every document that was given, with the version it made, in order: for replay."""
        with self._reads() as connection:
            return reading.configurations(connection)

    def commit(self, entry: Entry) -> int:
        """The new version, with all of the entry on disk; StaleError if it was made from another than the present."""
        with self._writes() as connection:
            version = writing.commit(connection, entry)
        return self._came_to(version)

    def rehearse(self, entry: Entry) -> None:
        """All that `commit` does, taken back: raises what that would."""
        with self._turn, in_our_words("the store did not take it"), self._writer.connect() as connection:
            writing.commit(connection, entry)
            connection.rollback()

    def workload(self, name: str) -> Record | None:
        with self._reads() as connection:
            return reading.workload(connection, name)

    def taken(self, name: str) -> bool:
        """Whether there is a workload of this name, ended or not."""
        with self._reads() as connection:
            return reading.taken(connection, name)

    def called(self, owner: str, name: str) -> str | None:
        """The workload that its owner calls so, ended or not, by the name of its record."""
        with self._reads() as connection:
            return reading.called(connection, owner, name)

    def named(self, names: Collection[str] | None = None) -> tuple[Named, ...]:
        """Who owns these workloads, and how they call them; of all that have not ended if no names are given."""
        with self._reads() as connection:
            return reading.named(connection, names)

    def accounts(self, phases: Collection[Phase]) -> frozenset[str]:
        """The unix accounts that workloads in these phases run as."""
        with self._reads() as connection:
            return reading.accounts(connection, phases)

    def workloads(
        self,
        *,
        phases: Collection[Phase] = (),
        queue: str | None = None,
        users: Collection[str] | None = None,
        projects: Collection[str] | None = None,
        visible_to: Viewer | None = None,
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = True,
    ) -> tuple[Record, ...]:
        """A page by submission, behind the workload named `after`; UnknownError if there is no such workload.

        `users` are owners. `visible_to` is a user with projects, who sees what is theirs.
        """
        with self._reads() as connection:
            return reading.workloads(
                connection,
                phases=phases,
                queue=queue,
                users=users,
                projects=projects,
                visible_to=visible_to,
                after=after,
                limit=limit,
                newest_first=newest_first,
            )

    def counts(self) -> Mapping[str, Mapping[Phase, int]]:
        """How many workloads of each queue are in each phase; those without a queue are under the empty name."""
        with self._reads() as connection:
            return reading.counts(connection)

    def events(
        self, *, after: int = 0, limit: int = 500, name: str | None = None, visible_to: Viewer | None = None
    ) -> tuple[Event, ...]:
        """Those behind sequence number `after`, oldest first."""
        with self._reads() as connection:
            return history.events(connection, after=after, limit=limit, name=name, visible_to=visible_to)

    def events_of(self, version: int) -> tuple[Event, ...]:
        """The events of the step that made this version."""
        with self._reads() as connection:
            return history.events_of(connection, version)

    def last_event(self) -> int:
        """The sequence number of the newest event, 0 if there is none."""
        with self._reads() as connection:
            return history.last_event(connection)

    def decisions(self, *, after: int = 0, limit: int = 100, workload: str | None = None) -> tuple[DecisionRecord, ...]:
        """Those behind number `after`, oldest first; with a name, those that have it as claimant or victim."""
        with self._reads() as connection:
            return history.decisions(connection, after=after, limit=limit, workload=workload)

    def decision(self, number: int) -> DecisionRecord | None:
        with self._reads() as connection:
            return history.decision(connection, number)

    def cluster(self, digest: str) -> bytes | None:
        """The cluster file with this hash, as JSON compressed with zlib, if it was kept."""
        with self._reads() as connection:
            return history.cluster(connection, digest)

    def story(self, name: str) -> Story:
        """All that happened to one workload, and was decided about it."""
        with self._reads() as connection:
            return history.story(connection, name)

    def audit(
        self, *, after: int = 0, limit: int = 100, by: str | None = None, about: str | None = None
    ) -> tuple[AuditEntry, ...]:
        """Who asked for what, behind sequence number `after`, oldest first."""
        with self._reads() as connection:
            return history.audit(connection, after=after, limit=limit, by=by, about=about)

    def note_audit(self, audit: AuditRequest, at: int) -> None:
        """One line of the audit trail for what never became a fact."""
        with self._writes() as connection:
            writing.note_audit(connection, audit, at)

    def check_audit(self) -> Chain:
        """Whether the audit trail and the decisions are as they were written, from the first to the last."""
        with self._reads() as connection:
            trail = chain.check(connection)
            count, head, broken, why = decisions.check(connection)
        known = replace(trail, decisions=count, decision_head=head)
        if trail.broken is not None or broken is None:
            return known
        return replace(known, broken=broken, why=why, what="decision")

    def steps(self) -> Iterator[tuple[int, list[Fact]]]:
        """Every recorded step as its time and its facts, in order; refused ones too."""
        after = 0
        while True:
            with self._reads() as connection:
                page = history.steps(connection, after, STEPS_AT_ONCE)
            if not page:
                return
            for _, at, facts in page:
                yield at, facts
            after = page[-1][0]

    def add_token(
        self, digest: str, name: str, role: str, projects: Sequence[str], at: int, expires: int | None = None
    ) -> int:
        """The id of a new token, of which only the SHA-256 is kept; without `expires` it stands until it is revoked."""
        with self._writes() as connection:
            return tokens.add_token(connection, digest, name, role, projects, at, expires)

    def renew(self, number: int, expires: int) -> bool:
        """Whether the token with this id expires then: it must be in force, and expire at all."""
        with self._writes() as connection:
            return tokens.renew(connection, number, expires)

    def token(self, digest: str) -> Token | None:
        """Who the token with this hash stands for; none if it is not known or was revoked."""
        with self._reads() as connection:
            return tokens.token(connection, digest)

    def revoke(self, which: int | str) -> int:
        """How many tokens stand for nobody from now on: the one with this id, or all with this name."""
        with self._writes() as connection:
            return tokens.revoke(connection, which)

    def tokens(self) -> tuple[Token, ...]:
        """All there ever were, oldest first."""
        with self._reads() as connection:
            return tokens.tokens(connection)

    def prune(
        self, *, ended_before: int | None, events_before: int | None, now: int, inputs_before: int | None = None
    ) -> Pruned:
        """Deletes what is older, and says so in the audit trail; without a time nothing goes. Decisions stay for ever.

        `inputs_before` is about recorded steps and kept cluster files, without which nothing older can be replayed.
        """
        names: list[str] = []
        events = steps = clusters = 0
        while ended_before is not None:
            with self._writes() as connection:
                pruned, gone = retention.prune_workloads(connection, ended_before, now)
            names += pruned
            events += gone
            if not pruned:
                break
        if events_before is not None:
            with self._writes() as connection:
                events += retention.prune_events(connection, events_before, now)
        if inputs_before is not None:
            with self._writes() as connection:
                steps, clusters = retention.prune_inputs(connection, inputs_before, now)
        return Pruned(tuple(names), events, steps, clusters)
