"""Questions to the running server: what it would decide now, or with changes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cede.cli.live.connection import connected

if TYPE_CHECKING:
    from cede.engine.diff import Difference
    from cede.model.plan import Plan

_OPTIONS = ("set", "without", "doctrine", "certify")
_FIRST = re.compile(r"[ \[]")
"""What ends the name of an option: doctrine.patience is a place of the cluster file."""
Server = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Question:
    """Changes as the API takes them; `sources` names the file each added workload comes from."""

    doctrine: str | None
    set: tuple[str, ...]
    without: tuple[str, ...]
    add: tuple[dict[str, Any], ...]
    sources: tuple[str, ...]

    @classmethod
    def read(
        cls,
        max_size: str,
        doctrine: str | None,
        add: Sequence[str] | None,
        set_: Sequence[str] | None,
        without: Sequence[str] | None,
    ) -> Question:
        """The changes that options ask for, with the files they name."""
        from cede.cli.source import entries_of
        from cede.engine.doctrine_files import split_file
        from cede.model.errors import InputError, Problem

        if doctrine is not None and split_file(doctrine)[0] is not None:
            message = "is a file of yours, and a running server decides by doctrines that it has itself"
            hint = "save its cluster with `cede snapshot`, and ask about that file"
            raise InputError([Problem(f"--doctrine {doctrine}", message, hint)])
        added = [(source, entry) for source in add or () for entry in entries_of(source, max_size)]
        entries = tuple(_plain(entry) for _, entry in added)
        return cls(doctrine, tuple(set_ or ()), tuple(without or ()), entries, tuple(source for source, _ in added))

    def plan(
        self, server: Server, *, only: str | None, explain: bool, shares: bool, certify: float | None = None
    ) -> Plan:
        """What would be decided."""
        from cede.model.plan import Plan

        with connected(*server, self._option) as client:
            return Plan.from_dict(
                client.plan(
                    doctrine=self.doctrine,
                    set=self.set,
                    add=self.add,
                    without=self.without,
                    only=only,
                    explain=explain,
                    shares=shares,
                    certify=certify,
                )
            )

    def diff(self, server: Server, *, certify: float | None = None) -> Difference:
        """What would be decided otherwise."""
        from cede.engine.diff import Difference

        with connected(*server, self._option) as client:
            return Difference.from_dict(
                client.diff(doctrine=self.doctrine, set=self.set, add=self.add, without=self.without, certify=certify)
            )

    def _option(self, place: str) -> str:
        """The option that a place of the question came from."""
        if place == "only":
            return "--for"
        for number, source in enumerate(self.sources):
            place = place.replace(f"add[{number}]", f"--add {source}")
        return f"--{place}" if _FIRST.split(place, 1)[0] in _OPTIONS else place


def _plain(value: Any) -> Any:
    """The value with numbers that JSON has."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value
