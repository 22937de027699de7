"""Which doctrine a file asks for, in which edition and with which settings."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import Field, ValidationError

from cede.model.dialect import Dialect, Dialects
from cede.model.errors import InputError, Loc, Problem, did_you_mean, shown
from cede.model.reports import Finding, Hints, findings_of, in_file_order
from cede.model.values import Part, Reads, Settings, plain_parts, refers_to


def _parse_dialect(raw: object) -> Dialect:
    if not isinstance(raw, Dialect):
        raise ValueError(f"{shown(raw)} is no dialect")
    return raw


OWN = "a doctrine of one's own is given with --doctrine FILE.py, every time"
"""What to do about a name that only somebody's file knows."""


class DoctrineChoice(Part):
    """A doctrine, one of its editions, and its cluster-wide settings as they were given."""

    name: str
    edition: str
    settings: Settings = Field(default_factory=dict)
    dialect: Annotated[Dialect, Reads(_parse_dialect, {})] = Field(repr=False)


def parse_doctrine(raw: object, dialects: Dialects | None) -> DoctrineChoice:
    """The choice that `doctrine: NAME` or `doctrine: {name: NAME, ...}` makes; an InputError says what is wrong."""
    known = {} if dialects is None else dialects
    if isinstance(raw, DoctrineChoice):
        return raw
    if isinstance(raw, str):
        dialect = known[_name(raw, (), known)]
        return _chosen({"name"}, dialect, dialect.editions[0], {})
    if not isinstance(raw, dict):
        raise InputError([Problem("", f"{shown(raw)} is no doctrine; name one of {', '.join(known)}")])
    if "name" not in raw:
        raise InputError([Problem.at(("name",), "this key is required and missing")])
    dialect = known[_name(raw["name"], ("name",), known)]
    given = {key: value for key, value in raw.items() if key not in ("name", "edition")}
    findings = [] if "edition" not in raw else _edition_findings(dialect, raw["edition"])
    settings, problems = plain_parts(given)
    findings += [Finding(problem.steps, problem.message, problem.hint) for problem in problems]
    try:
        dialect.cluster.model_validate(settings)
    except ValidationError as error:
        findings += findings_of(error, dialect.cluster, Hints())
    if findings:
        raise InputError(in_file_order(findings, raw))
    fields = {"name", *(["edition"] if "edition" in raw else []), *(["settings"] if given else [])}
    return _chosen(fields, dialect, raw.get("edition", dialect.editions[0]), settings)


def _chosen(given: set[str], dialect: Dialect, edition: str, settings: dict[str, Any]) -> DoctrineChoice:
    return DoctrineChoice.model_construct(
        {*given, "dialect"}, name=dialect.name, edition=edition, settings=settings, dialect=dialect
    )


def _name(raw: object, loc: Loc, known: Dialects) -> str:
    if isinstance(raw, str) and raw in known:
        return raw
    message = f"no doctrine is called {shown(raw)}; there are {', '.join(known)}"
    near = did_you_mean(raw, known)
    raise InputError([Problem.at(loc, message, OWN if near is None else f"{near} or else {OWN}")])


def _edition_findings(dialect: Dialect, raw: object) -> list[Finding]:
    known = dialect.editions
    if isinstance(raw, str) and raw in known:
        return []
    message = f"{dialect.name} has no edition {shown(raw)}; there are {', '.join(known)}"
    hint = did_you_mean(raw, known)
    if isinstance(raw, int | float | Decimal) and not isinstance(raw, bool):
        message = f"the edition {shown(raw)} is a number; editions are text"
        as_text = next((e for e in known if e == shown(raw) or _same_number(e, raw)), shown(raw))
        hint = f'write it in quotes: "{as_text}"' if Decimal(raw).is_finite() else None
    return [Finding(("edition",), message, hint)]


def _same_number(edition: str, raw: int | float | Decimal) -> bool:
    """Whether YAML may have made this number of that edition: 0.20 comes as 0.2."""
    try:
        return float(edition) == float(raw)
    except (ValueError, OverflowError):
        return False


Doctrine = Annotated[DoctrineChoice, Reads(parse_doctrine, refers_to("doctrine"), in_context=True)]
