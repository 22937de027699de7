"""The option --certify: how it is given, with a time or without, and how a certificate is worded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from cede.model.certificate import Certificate

NAME = "--certify"
DEFAULT = "10"
_NUMBER = re.compile(r"[-+]?\.?[0-9]\S*|[-+]?(nan|inf)", re.IGNORECASE)
"""What is meant as a number, if it is one or not; a file may follow the option as well."""

Certify = Annotated[
    str | None,
    typer.Option(
        NAME,
        metavar="[SECONDS]",
        help="Prove how near the victims of each decision are to the best set there is, within this time in all; "
        f"default {DEFAULT}.",
    ),
]


class Certifying(TyperCommand):
    """A command whose --certify may stand without a value."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_default(args))


def with_default(given: list[str]) -> list[str]:
    """The arguments with the time spelled out where --certify has none."""
    arguments: list[str] = []
    for at, argument in enumerate(given):
        if argument == "--":
            return arguments + given[at:]
        following = given[at + 1] if at + 1 < len(given) else ""
        bare = argument == NAME and not _NUMBER.fullmatch(following)
        arguments.append(f"{NAME}={DEFAULT}" if bare else argument)
    return arguments


def seconds_of(given: str | None, *, live: bool = False) -> float | None:
    """The time that the option gives, if it was given; an InputError if that is no time, or too long to ask a running
    server for."""
    if given is None:
        return None
    from cede.engine.certify import seconds_of as read

    return read(given, live=live)


def worded(certificate: Certificate) -> str:
    """A certificate in one line; that of the cost, if it has one, follows."""
    parts = [certificate] if certificate.cost is None else [certificate, certificate.cost]
    return "; ".join(map(_worded, parts)) + _left_out(certificate)


def _worded(one: Certificate) -> str:
    from cede.cli.output import listed

    unit = f" {one.unit}" if one.unit not in ("", "place", one.objective) else ""
    name = f"{one.objective}: {one.unit}" if one.unit == "place" else one.objective
    words = f"{name} {_number(one.value)}{unit}"
    if not one.lawful:
        least = "" if one.bound is None else f", and nothing that does is below {_number(one.bound)}{unit}"
        return f"{words}, but these victims do not do all that is asked{least}"
    if one.bound is None or one.gap is None:
        return f"{words}: nothing is proven"
    words += f", bound {_number(one.bound)}: "
    words += "optimal" if one.optimal else f"gap {100 * one.gap:.1f} %"
    if one.better and one.best is not None:
        words += f", better: {listed(list(one.better))} ({_number(one.best)}{unit})"
    return words


def _left_out(one: Certificate) -> str:
    return f" (the bound leaves out: {'; '.join(one.relaxed)})" if one.relaxed and not _surely(one) else ""


def _surely(one: Certificate) -> bool:
    """Whether nothing that the bound leaves out could make it better."""
    return one.optimal and (one.cost is None or one.cost.optimal)


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,.2f}"
