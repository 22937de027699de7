"""The kinds of value in the API's documents: as in a cluster file, checked on arrival and kept as they were written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from cede.live.documents import Amounts
from cede.model.errors import shown
from cede.model.quantities import format_quantity
from cede.model.resources import parse_resources
from cede.model.times import LONGEST, SECOND, format_time, parse_duration
from cede.model.values import Reads

MOST_OF_OWN_NAME = 100
"""Characters of the name of a workload or a user."""
NAME = rf"^[A-Za-z0-9][A-Za-z0-9._-]{{0,{MOST_OF_OWN_NAME - 1}}}$"
NAME_IN_WORDS = f"a letter or digit, then at most {MOST_OF_OWN_NAME - 1} more, dots, dashes or underscores among them"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
MOST_VARIABLES = 1000
MOST_CHARACTERS = 100_000
"""Of one argument or one value: what Linux gives a new process is bounded."""
MOST_PATH = 4096
MOST_NAME = 253
"""Characters of a name, or of a label or its value."""
MOST_RESOURCES = 64
"""That one member may ask for."""
MOST_LABELS = 64
"""That a node may have to have."""
LONGEST_LIFETIME = 3650 * 86400 * SECOND
"""Of a token that expires."""
INTERVAL = "CEDE_CHECKPOINT_INTERVAL"
"""The variable that tells an application how often to write a checkpoint by itself, in seconds."""

_QUANTITY: dict[str, Any] = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}
_MOST_S = LONGEST // SECOND
_DURATION: dict[str, Any] = {
    "anyOf": [{"type": "number", "minimum": 0, "maximum": _MOST_S}, {"type": "string"}],
    "description": "Seconds, or text like 30s, 10m, 1h30m; 100 years (876600h) is the longest.",
}
_WALLTIME: dict[str, Any] = _DURATION | {
    "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": _MOST_S}, {"type": "string"}]
}


class Body(BaseModel):
    """What a caller sends: exactly the keys it names."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _checked(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Reads a value as it stands, if `parse` can read it."""

    def check(raw: Any) -> Any:
        parse(raw)
        return raw

    return check


def parse_walltime(raw: object) -> int:
    """How long work may run; no time at all is none."""
    walltime = parse_duration(raw)
    if not walltime:
        raise ValueError(f"{shown(raw)} is no time to run in; leave it out for work that has no end")
    return walltime


def parse_lifetime(raw: object) -> int:
    """How long a token stands for its user."""
    lifetime = parse_duration(raw)
    if not 0 < lifetime <= LONGEST_LIFETIME:
        raise ValueError(f"{shown(raw)} is no time for a token to stand: more than none, and at most ten years")
    return lifetime


def parse_environment(raw: object) -> dict[str, str]:
    """Variables of an environment; a ValueError says which is none."""
    if not isinstance(raw, dict):
        raise ValueError(f"{shown(raw)} is no object of names and texts")
    if len(raw) > MOST_VARIABLES:
        raise ValueError(f"has {len(raw)} variables; the most is {MOST_VARIABLES}")
    for name, value in raw.items():
        if not isinstance(name, str) or _VARIABLE.fullmatch(name) is None:
            raise ValueError(f"{shown(name)} is no name of a variable; letters, digits and _, no digit first")
        if not isinstance(value, str):
            raise ValueError(f"{name} is {shown(value)}, which is no text")
        _check_text(value)
    return raw


def parse_argument(raw: object) -> str:
    """One argument of a command."""
    if not isinstance(raw, str):
        raise ValueError(f"{shown(raw)} is no text")
    _check_text(raw)
    return raw


def parse_folder(raw: object) -> str:
    """An absolute path that says plainly where it leads."""
    text = parse_argument(raw)
    if len(text) > MOST_PATH:
        raise ValueError(f"has {len(text)} characters; the most is {MOST_PATH}")
    if not text.startswith("/"):
        raise ValueError(f"{shown(text)} is no absolute path")
    if ".." in text.split("/"):
        raise ValueError(f"{shown(text)} goes up by `..`; write the path it leads to")
    return text


def parse_requests(raw: object) -> dict[str, int]:
    """What one member asks for; of so many resources that each can be looked at wherever it might run."""
    if isinstance(raw, dict) and len(raw) > MOST_RESOURCES:
        raise ValueError(f"names {len(raw)} resources; the most is {MOST_RESOURCES}")
    return parse_resources(raw)


def parse_labels(raw: object) -> dict[str, str]:
    """The labels that a node must have."""
    if not isinstance(raw, dict):
        raise ValueError(f"{shown(raw)} is no object of labels and values")
    if len(raw) > MOST_LABELS:
        raise ValueError(f"has {len(raw)} labels; the most is {MOST_LABELS}")
    for label, value in raw.items():
        if not isinstance(label, str) or not isinstance(value, str):
            raise ValueError(f"{shown(label)} is {shown(value)}, which is no text")
        for text in (label, value):
            if len(text) > MOST_NAME:
                raise ValueError(f"{shown(text)} has {len(text)} characters; the most is {MOST_NAME}")
            _check_printable(text)
    return raw


def _check_printable(text: str) -> str:
    """Text that people are shown, on terminals too."""
    if not text.isprintable():
        raise ValueError(f"{shown(text)} holds characters that cannot be printed")
    return text


def _check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("holds a NUL character, which no process can be given")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"has {len(text)} characters; the most is {MOST_CHARACTERS}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("is no valid Unicode text") from None


Requests = Annotated[
    dict[str, Any],
    Reads(
        _checked(parse_requests),
        {"type": "object", "additionalProperties": _QUANTITY, "maxProperties": MOST_RESOURCES},
    ),
]
"""For one member, as in a cluster file: {"cpu": 2, "memory": "4Gi"}."""
Duration = Annotated[Any, Reads(_checked(parse_duration), _DURATION)]
Walltime = Annotated[Any, Reads(_checked(parse_walltime), _WALLTIME)]
Lifetime = Annotated[Any, Reads(_checked(parse_lifetime), _WALLTIME)]
Variables = Annotated[
    dict[str, str],
    Reads(
        parse_environment,
        {
            "type": "object",
            "propertyNames": {"pattern": f"^{_VARIABLE.pattern}$"},
            "additionalProperties": {"type": "string", "maxLength": MOST_CHARACTERS},
            "maxProperties": MOST_VARIABLES,
        },
    ),
]
Argument = Annotated[str, Reads(parse_argument, {"type": "string", "maxLength": MOST_CHARACTERS})]
Folder = Annotated[str, Reads(parse_folder, {"type": "string", "pattern": "^/", "maxLength": MOST_PATH})]
Labels = Annotated[
    dict[str, str],
    Reads(
        parse_labels,
        {
            "type": "object",
            "additionalProperties": {"type": "string", "maxLength": MOST_NAME},
            "propertyNames": {"maxLength": MOST_NAME},
            "maxProperties": MOST_LABELS,
        },
    ),
]
Label = Annotated[str, Field(min_length=1, max_length=MOST_NAME), AfterValidator(_check_printable)]


def amounts(nano: Mapping[str, int]) -> Amounts:
    """Amounts as they are shown."""
    return {name: format_quantity(value) for name, value in nano.items()}


def moment(us: int | None) -> str | None:
    """A time as it is shown: RFC 3339 in UTC."""
    return None if us is None else str(format_time(us, instant=True))
