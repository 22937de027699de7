"""A loaded cluster: the document, and its columns once somebody decides on it."""

from __future__ import annotations

from functools import cached_property

from cede.imports.report import Note
from cede.model.cluster import ClusterFile
from cede.model.document import dump_document
from cede.state.build import build
from cede.state.state import State


class Cluster:
    """What `load` returns and `plan` and `settle` read; neither changes it."""

    def __init__(self, document: ClusterFile, notes: tuple[Note, ...] = ()) -> None:
        self.document = document
        self.notes = notes
        """What was in the objects it was made from, and has no place in the document."""

    @cached_property
    def state(self) -> State:
        return build(self.document)

    def to_dict(self, *, defaults: bool = False) -> dict[str, object]:
        """The normalized document."""
        return dump_document(self.document, defaults=defaults)
