"""The conditions in an object's status."""

from __future__ import annotations

from dataclasses import dataclass

from cede.imports.fields import Fields


@dataclass(frozen=True, slots=True)
class Condition:
    """What an object's controller last found about it, and since when it is so."""

    is_true: bool
    is_false: bool
    reason: str
    since: int | None
    loc: tuple[str | int, ...]


NOT_THERE = Condition(False, False, "", None, ())


def conditions_of(status: Fields) -> dict[str, Condition]:
    """Conditions by type."""
    conditions = {}
    for one in status.parts("conditions"):
        word = one.choice("status", ("True", "False", "Unknown"))
        conditions[one.need("type")] = Condition(
            word == "True", word == "False", one.text("reason") or "", one.time("lastTransitionTime"), one.loc
        )
        one.skip_rest()
    return conditions
