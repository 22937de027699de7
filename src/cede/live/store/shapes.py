"""Dataclasses as plain data and back, exactly, by the types of their fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from enum import Enum
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cede.model.document import dump_part
from cede.model.lifecycle import Signal
from cede.model.values import Part

T = TypeVar("T")
Form = Callable[[Any], Any]

_PLAIN = (str, int, float, bool)
_SIGNALS = {str(signal): signal for signal in Signal}
_SHAPES: dict[type, Shape[Any]] = {}
"""By class, those that were made."""


class Shape(Generic[T]):
    """How one dataclass is written: a key for each field whose value is not its default; of those it is made with."""

    def __init__(self, cls: type[T]) -> None:
        _SHAPES[cls] = self  # before its fields are looked at: one of them may hold another of its kind
        hints = get_type_hints(cls)
        every = dataclasses.fields(cls)  # type: ignore[arg-type]  # only dataclasses are asked for
        fields = [one for one in every if one.init]
        self._cls = cls
        names = [one.name for one in fields]
        # Of a single name attrgetter gives the value, not a tuple of it, and of none it is an error.
        self._values: Callable[[Any], tuple[Any, ...]] = (
            attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
        )
        self._rows = tuple((one.name, _default(one), *_forms(hints[one.name])) for one in fields)
        self._parsers = {name: parse for name, _, _, parse in self._rows if parse is not None}

    def dump(self, value: T) -> dict[str, Any]:
        return {
            name: item if dump is None or item is None else dump(item)
            for (name, default, dump, _), item in zip(self._rows, self._values(value), strict=True)
            if item is not default and item != default
        }

    def parse(self, data: Mapping[str, Any]) -> T:
        given = dict(data)
        for name, parse in self._parsers.items():
            if (item := given.get(name)) is not None:
                given[name] = parse(item)
        return self._cls(**given)


def _default(one: dataclasses.Field[Any]) -> Any:
    return one.default_factory() if one.default_factory is not MISSING else one.default


def _forms(hint: Any) -> tuple[Form | None, Form | None]:
    """How a value of this type is written and read, none where it is plain data; a type we do not know is an error."""
    if hint is Any or hint in _PLAIN or get_origin(hint) is Literal:
        return None, None
    if hint == Signal | str:
        return str, _signal
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        inner = [argument for argument in arguments if argument is not NoneType]
        if len(inner) == 1:
            return _forms(inner[0])
    elif origin is tuple and arguments[1:] == (...,):
        return _tuple_forms(*_forms(arguments[0]))
    elif origin in (dict, Mapping):
        return dict, None
    elif isinstance(hint, type):
        if issubclass(hint, Part):
            return dump_part, hint.model_validate
        if issubclass(hint, Enum):
            return str, hint
        if dataclasses.is_dataclass(hint):
            inner_shape = _SHAPES.get(hint) or Shape(hint)
            return inner_shape.dump, inner_shape.parse
    raise TypeError(f"the store does not know how to keep a {hint}")


def _tuple_forms(dump: Form | None, parse: Form | None) -> tuple[Form, Form]:
    return (
        list if dump is None else lambda items: [dump(item) for item in items],
        tuple if parse is None else lambda items: tuple(parse(item) for item in items),
    )


def _signal(text: str) -> Signal | str:
    return _SIGNALS.get(text, text)
