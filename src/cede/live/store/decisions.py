"""The decisions as a chain of hashes beside that of the audit trail: what was decided, and which workloads were
evicted, cannot be changed, taken out or put in unnoticed."""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import DBAPIError

from cede.engine.drive.step import Made
from cede.live.store import codec
from cede.live.store.records import Entry
from cede.live.store.tables import CLUSTERS, DECISIONS, STATE, VICTIMS, column
from cede.model.cluster import ClusterFile

BEGINNING = "0" * 64
"""What the first decision has for the hash of the one before it."""
KEYS = (
    *("number", "version", "at", "claimant", "doctrine", "edition", "settings_hash", "cluster_hash", "body", "kept"),
    "previous",
)
"""What is hashed, in this order; the names of its victims follow, sorted."""

_END = select(STATE.c.decision_last, STATE.c.decision_head)
_SET_END = update(STATE).where(STATE.c.id == 1)
_SET_END = _SET_END.values(decision_last=bindparam("last"), decision_head=bindparam("head"))
_WALK = select(*(DECISIONS.c[key] for key in KEYS), DECISIONS.c.hash).order_by(DECISIONS.c.number)
_AT_ONCE = 1000


def link(connection: Connection, rows: Sequence[dict[str, Any]], victims: Mapping[int, Iterable[str]]) -> None:
    """The rows have their hashes, behind the last decision of the chain, in this transaction."""
    head = connection.execute(_END).one().decision_head
    for row in rows:
        row["previous"] = head
        head = row["hash"] = digest(row, victims.get(row["number"], ()))
    connection.execute(_SET_END, {"last": rows[-1]["number"], "head": head})


def digest(row: Mapping[str, Any], victims: Iterable[str]) -> str:
    """The SHA-256 of a decision: of the JSON array of its values, in the order of KEYS, and its victims."""
    values = [*(row[key] for key in KEYS), sorted(victims)]
    return hashlib.sha256(codec.text_of(values).encode()).hexdigest()


def check(connection: Connection) -> tuple[int, str, int | None, str]:
    """How many decisions are as they were written, the last hash, and the first that is not, with what is wrong."""
    last, head = connection.execute(_END).one()
    number, before, right = 0, BEGINNING, 0
    try:
        for row, victims in _records(connection):
            fault = _fault(row, victims, number, before, last)
            if fault:
                return right, head, row["number"], fault
            number, before, right = row["number"], row["hash"], right + 1
    except DBAPIError:
        return right, head, number + 1, f"a decision behind decision {number} cannot be read"
    if (number, before) != (last, head):
        why = f"the decisions end with decision {number}, and decision {last} was written last"
        return right, head, number if number == last else number + 1, why
    return right, head, None, ""


def _fault(row: Mapping[str, Any], victims: Sequence[str], number: int, before: str, last: int) -> str:
    """What is wrong with a decision behind decision `number`, whose hash is `before`; empty: nothing."""
    named = f"decision {row['number']}"
    if row["number"] > last:
        return f"{named} was put in: decision {last} was written last"
    if row["previous"] != before:
        return f"{named} does not follow decision {number}: one was taken out, put in or changed"
    try:
        right = row["hash"] == digest(row, victims)
    except (TypeError, ValueError):
        return f"{named} has a value that nobody wrote: it is no text and no number"
    return "" if right else f"{named} or its victims are not as they were written"


def _records(connection: Connection) -> Iterator[tuple[Mapping[str, Any], Sequence[str]]]:
    """Every decision in order, with its victims."""
    after: int | None = None
    while True:
        page = _WALK.limit(_AT_ONCE) if after is None else _WALK.where(DECISIONS.c.number > after).limit(_AT_ONCE)
        rows = connection.execute(page).mappings().all()
        if not rows:
            return
        after = rows[-1]["number"]
        within = VICTIMS.c.number.between(rows[0]["number"], after)
        victims = defaultdict(list)
        for name, number in connection.execute(select(VICTIMS.c.name, VICTIMS.c.number).where(within)):
            victims[number].append(name)
        for row in rows:
            yield dict(row), victims[row["number"]]


_ADD_DECISION = insert(DECISIONS)
_ADD_VICTIM = insert(VICTIMS)
_ADD_CLUSTER = insert(CLUSTERS)
_HAS_CLUSTER = select(CLUSTERS.c.hash).where(CLUSTERS.c.hash == bindparam("which"))
_FAST = 1
"""The compression that costs a step least; a file still shrinks to a tenth."""


def keep_decisions(connection: Connection, entry: Entry, version: int) -> None:
    """Each decision has the hash of the cluster file it carries, else that of the entry."""
    made = entry.step.decisions
    files: dict[str, bytes] = {} if entry.cluster is None else {entry.cluster_hash: entry.cluster}
    # Decisions of one plan carry the same moment, which is written out once.
    hashes: dict[int, str] = {}
    for one in made:
        if one.cluster is not None and id(one.cluster) not in hashes:
            digest, body = packed(one.cluster)
            hashes[id(one.cluster)] = digest
            files[digest] = body
    rows = [
        _decision_row(one, version, entry.settings_hash, hashes.get(id(one.cluster), entry.cluster_hash))
        for one in made
    ]
    victims = {one.number: {column(victim.workload): None for victim in one.decision.victims} for one in made}
    link(connection, rows, victims)
    connection.execute(_ADD_DECISION, rows)
    if named := [{"name": name, "number": number} for number, names in victims.items() for name in names]:
        connection.execute(_ADD_VICTIM, named)
    for digest, body in files.items():
        if connection.execute(_HAS_CLUSTER, {"which": digest}).first() is None:
            connection.execute(_ADD_CLUSTER, [{"hash": digest, "body": body}])


def packed(document: ClusterFile) -> tuple[str, bytes]:
    """The SHA-256 of a cluster file in its normal form, as JSON, and that JSON compressed with zlib."""
    text = codec.dump_cluster(document).encode()
    return hashlib.sha256(text).hexdigest(), zlib.compress(text, _FAST)


def _decision_row(made: Made, version: int, settings_hash: str, cluster_hash: str) -> dict[str, Any]:
    claimant = made.decision.workload
    return {
        "number": made.number,
        "version": version,
        "at": made.at,
        "claimant": None if claimant is None else column(claimant),
        "doctrine": made.doctrine,
        "edition": made.edition,
        "settings_hash": settings_hash,
        "cluster_hash": cluster_hash,
        "body": codec.dump_decision(made.decision),
        "kept": codec.text_of(made.kept) if made.kept else None,
    }
