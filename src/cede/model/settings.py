"""What people are told of a doctrine's settings, drawn from the models that read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic.fields import FieldInfo

from cede.model.times import parse_duration, show_duration
from cede.model.values import Part, Reads

UNSET, INHERITED, NOTHING = "unset", "inherited", "nothing"
"""Defaults that cannot be written in a file; a setting that is left out has them."""


@dataclass(frozen=True, slots=True)
class Means:
    """Marks a setting with what it does. A setting without this mark is read, and no page or command shows it.

    Keys within a setting have no meaning of their own to tell; of their default something may be said.
    """

    meaning: str = ""
    shown: object = None
    """The default as people are told of it, where the value itself would not say it."""
    only: tuple[str, ...] = ()
    """The editions that have it; none named: all."""
    first: bool = False
    """Whether it is told before the others."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting, for people: where it is set, its default in each edition that has it, what it does."""

    name: str
    where: str
    defaults: Mapping[str, object]
    meaning: str


def settings_told(where: str, models: Mapping[str, type[Part]]) -> Iterator[Setting]:
    """The settings of one place, of which each edition has its own model; each once, in the order of the models."""
    by_name: dict[str, tuple[Means, dict[str, object]]] = {}
    for edition, model in models.items():
        for key, info in model.model_fields.items():
            mark = _mark(info)
            if mark is not None and (not mark.only or edition in mark.only):
                _, defaults = by_name.setdefault(info.alias or key, (mark, {}))
                defaults[edition] = _default(info)
    for name, (mark, defaults) in sorted(by_name.items(), key=lambda one: not one[1][0].first):
        yield Setting(name, where, defaults, mark.meaning)


def _mark(info: FieldInfo) -> Means | None:
    return next((one for one in info.metadata if isinstance(one, Means)), None)


def _default(info: FieldInfo) -> object:
    """The default as one would write it in a file, or the word for one that cannot be written."""
    mark = _mark(info)
    if mark is not None and mark.shown is not None:
        return mark.shown
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None:
        return UNSET
    if isinstance(value, Part):
        fields = type(value).model_fields.items()
        return {one.alias or key: _default(one) for key, one in fields if getattr(value, key) is not None}
    if value in ({}, []):
        return NOTHING
    if value == "":
        return "''"
    times = (one.parse is parse_duration for one in info.metadata if isinstance(one, Reads))
    return show_duration(value) if any(times) else value
