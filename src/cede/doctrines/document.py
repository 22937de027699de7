"""The cluster file with the settings of every doctrine there is: how it is read, and the schema that describes it."""

from __future__ import annotations

from cede.doctrines.catalog import DIALECTS, described_dialects
from cede.model import document, schema
from cede.model.cluster import ClusterFile


def parse_document(data: object) -> ClusterFile:
    """The cluster file that `data` describes; an InputError lists everything that is wrong with it."""
    return document.parse(data, DIALECTS)


def json_schema() -> schema.Schema:
    """The schema of the whole document, in draft 2020-12."""
    return schema.json_schema(described_dialects())
