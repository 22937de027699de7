"""The decisions of a step, with the cluster files that they were made from."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from cede.engine.drive.step import Made
from cede.live.store import codec, decision_chain
from cede.live.store.records import Entry
from cede.live.store.tables import CLUSTERS, DECISIONS, VICTIMS, column
from cede.model.cluster import ClusterFile

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
    decision_chain.link(connection, rows, victims)
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
