"""Values that are made by the hundred thousand: as cheap to make as any object, and never changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """A dataclass with slots that compares and hashes by what it holds.

    That nobody changes one is seen to by the type checker. A frozen dataclass sees to it at run time too, and takes
    three times as long to make.
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
