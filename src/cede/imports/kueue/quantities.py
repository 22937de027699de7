"""Amounts as Kubernetes reads them, and divided as Kueue divides them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation

from cede.imports.fields import Fields
from cede.model.errors import Loc
from cede.model.quantities import LARGEST, NANO, parse_quantity
from cede.model.resources import parse_resources

Amounts = dict[str, int]
"""In 10**-9 units by resource."""

CAPPED = "it is more than 2**63 - 1, and Kubernetes caps it there"
_FINER = "finer than 10**-9"
_LARGER = "above the largest"
_SMALL = {"n": -9, "u": -6, "m": -3}
_ROUNDING = Context(prec=60, rounding=ROUND_CEILING)


def quantity(fields: Fields, key: str) -> int | None:
    """The amount below the key: too much is capped, and too fine is rounded up."""
    return _read(fields, fields.raw(key), (key,))


def quantities(fields: Fields, key: str) -> Amounts:
    """Amounts by resource."""
    part = fields.part(key)
    found = {name: amount for name in part.data if (amount := _named(part, name)) is not None}
    part.skip_rest()
    return found


def is_resource(name: str) -> bool:
    """Whether a cluster file can name such a resource."""
    try:
        parse_resources({name: 0})
    except ValueError:
        return False
    return "@" not in name


def _named(fields: Fields, name: str) -> int | None:
    if not is_resource(name):
        fields.wrong((name,), "this is no name of a resource")
        return None
    return _read(fields, fields.raw(name), (name,))


def _read(fields: Fields, raw: object, loc: Loc) -> int | None:
    if raw is None:
        return None
    text = raw.removeprefix("+") if isinstance(raw, str) else raw
    try:
        return parse_quantity(text)
    except ValueError as error:
        if _LARGER in str(error):
            fields.remark(CAPPED, *loc)
            return LARGEST
        if _FINER in str(error) and (rounded := _rounded_up(text)) is not None:
            return rounded
        fields.wrong(loc, str(error))
        return None


def _rounded_up(raw: object) -> int | None:
    text = str(raw)
    power = _SMALL.get(text[-1:], 0)
    try:
        number = Decimal(text[:-1] if power else text)
    except InvalidOperation:
        return None
    return int(_ROUNDING.to_integral_value(_ROUNDING.scaleb(number, 9 + power)))


def total(amounts: Iterable[Mapping[str, int]]) -> Amounts:
    """All of them together."""
    found: Amounts = {}
    for one in amounts:
        for name, nano in one.items():
            found[name] = found.get(name, 0) + nano
    return found


def largest(one: Mapping[str, int], other: Mapping[str, int]) -> Amounts:
    """Of each resource the larger amount."""
    return {name: max(one.get(name, 0), other.get(name, 0)) for name in {**one, **other}}


def times(amounts: Mapping[str, int], count: int) -> Amounts:
    return {name: nano * count for name, nano in amounts.items()}


def for_each(amounts: Mapping[str, int], count: int) -> Amounts:
    """The share of one of `count`, in whole units: thousandths of a CPU, and units of everything else."""
    return {name: nano // (count * unit) * unit for name, nano in amounts.items() for unit in (_unit(name),)}


def _unit(resource: str) -> int:
    return NANO // 1000 if resource == "cpu" else NANO
