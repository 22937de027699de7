"""Amounts as Kubernetes reads them, and divided as Kueue divides them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation

from cede.imports.fields import Amounts, Fields
from cede.model.errors import Loc
from cede.model.quantities import NANO, parse_quota, show_quantity
from cede.model.resources import parse_resources

MOST_BYTES = 2**56 * NANO
MOST = 10**12 * NANO
"""More of a resource than any cluster has, and little enough that the sums of many such amounts are exact."""
_BYTES = re.compile(r"memory|storage|hugepages|bytes|disk", re.IGNORECASE)
_FINER = "finer than 10**-9"
_SMALL = {"n": -9, "u": -6, "m": -3}
_ROUNDING = Context(prec=60, rounding=ROUND_CEILING)


def quantity(fields: Fields, key: str, resource: str = "") -> int | None:
    """The amount of a resource below the key: too much is capped, and too fine is rounded up."""
    return _read(fields, fields.raw(key), (key,), resource)


def quota(fields: Fields, key: str) -> int | None:
    """The quota or limit below the key; too much is unlimited, and too fine is rounded up."""
    return _parsed(fields, fields.raw(key), (key,))


def quantities(fields: Fields, key: str) -> Amounts:
    """Amounts by resource."""
    part = fields.part(key)
    amounts = {name: amount for name in part.data if (amount := _named(part, name)) is not None}
    part.skip_rest()
    return amounts


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
    return _read(fields, fields.raw(name), (name,), name)


def _read(fields: Fields, raw: object, loc: Loc, resource: str) -> int | None:
    amount = _parsed(fields, raw, loc)
    if amount is None:
        return None
    most = MOST_BYTES if _BYTES.search(resource) else MOST
    if amount > most:
        fields.remark(f"it is more than is counted here, and treated as {show_quantity(resource, most)}", *loc)
    return min(amount, most)


def _parsed(fields: Fields, raw: object, loc: Loc) -> int | None:
    """The amount, or the largest there is if it is more."""
    if raw is None:
        return None
    text = raw.removeprefix("+") if isinstance(raw, str) else raw
    try:
        return parse_quota(text)
    except ValueError as error:
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
