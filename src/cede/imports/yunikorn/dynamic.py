"""Queues that exist and are not in the configuration: those that YuniKorn made on the fly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cede.imports.fields import Amounts, Fields
from cede.imports.report import Place
from cede.imports.yunikorn.properties import Settings, alone, properties_of, settings_of
from cede.imports.yunikorn.quantities import counted
from cede.imports.yunikorn.queues import ROOT, Queue, Template, entry_of

UNUSED = "it is for queues made on the fly, and none below it is known"
UNKNOWN = "the configuration does not have it; it is taken as the dump has it"


@dataclass(slots=True)
class Tree:
    """All queues by path: those of the configuration, and the entries of those that are in no configuration."""

    configured: Mapping[str, Queue]
    dynamic: dict[str, dict[str, Any]]
    origins: dict[str, Place]

    def entries(self) -> list[dict[str, Any]]:
        """The queues of the cluster file: the configured ones in their order, then the others by path."""
        of_dump = [self.dynamic[path] for path in sorted(self.dynamic)]
        return [queue.entry() for queue in self.configured.values()] + of_dump

    def places(self) -> list[Place]:
        """Where each of the entries comes from."""
        of_dump = [self.origins[path] for path in sorted(self.dynamic)]
        return [queue.fields.place for queue in self.configured.values()] + of_dump

    def has(self, path: str) -> bool:
        return path in self.configured or path in self.dynamic

    def add(self, path: str, fields: Fields | None, leaf: bool, place: Place) -> None:
        """Take a queue in that is in no configuration, and those above it; `fields` are what the dump has of it."""
        above = path.rpartition(".")[0]
        if above and not self.has(above):
            self.add(above, None, False, place)
        template = self._template(above) if leaf else None
        guaranteed: Amounts = {} if template is None else template.guaranteed
        limit: Amounts = {} if template is None else template.max
        settings: Settings = {} if template is None else template.settings
        if template is not None:
            template.used = True
        if fields is not None:
            guaranteed = counted(fields, "guaranteedResource") or guaranteed
            limit = counted(fields, "maxResource") or limit
            if leaf and (properties := properties_of(fields)):
                settings = settings_of(properties, fields)
        self.dynamic[path] = entry_of(path, above or None, guaranteed, limit, alone(settings))
        self.origins[path] = place

    def note_unused(self) -> None:
        """Say of which templates no queue was made."""
        for queue in self.configured.values():
            if queue.template is not None and not queue.template.used:
                queue.fields.remark(UNUSED, "childtemplate")

    def _template(self, path: str) -> Template | None:
        while path:
            if path in self.configured:
                return self.configured[path].for_children
            path = path.rpartition(".")[0]
        return None


def tree_of(configured: Mapping[str, Queue], roots: list[Fields]) -> Tree:
    """The configured queues and those of the dump's trees."""
    tree = Tree(configured, {}, {})
    for fields in roots:
        for path, one in _walk(fields, ""):
            if not tree.has(path):
                leaf = one.truth("isLeaf")
                tree.add(path, one, leaf is True or (leaf is None and not one.has("children")), one.place)
                if one.truth("isManaged"):
                    one.remark(UNKNOWN)
    return tree


def _walk(raw: Fields, above: str) -> Iterator[tuple[str, Fields]]:
    name = raw.need("queuename").lower()
    path = name if not above or name.startswith(f"{above}.") else f"{above}.{name}"
    if path == ROOT or path.startswith(f"{ROOT}."):
        fields = Fields(raw.data, Place(raw.place.source, "queue", path), raw.report)
        yield path, fields
        for child in fields.parts("children"):
            yield from _walk(child, path)
    elif name:
        raw.wrong(("queuename",), f"'{name}' does not lie below {ROOT}")
