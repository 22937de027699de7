"""Short names for what a decision was made from: hashes of documents in their one normal form."""

from __future__ import annotations

import hashlib
import json

from cede.model.cluster import ClusterFile
from cede.model.document import dump_document


def canonical(document: ClusterFile) -> bytes:
    """The document as JSON, the same bytes for the same cluster."""
    return json.dumps(dump_document(document), sort_keys=True, separators=(",", ":")).encode()


def document_hash(document: ClusterFile) -> str:
    return hashlib.sha256(canonical(document)).hexdigest()


def settings_hash(document: ClusterFile) -> str:
    """Of everything but nodes and workloads: doctrine, queues, apps, tenants, policies."""
    return document_hash(document.model_copy(update={"nodes": [], "workloads": [], "now": 0}))
