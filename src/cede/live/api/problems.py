"""Refusals as problem documents (RFC 9457): what was asked for, what stands against it, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field, ValidationError

from cede.live.api.bodies import (
    CancelBody,
    DrainBody,
    PlanBody,
    RenewBody,
    Submission,
    SuspendBody,
    TokenBody,
    WhatIfBody,
)
from cede.live.api.rules import INVALID, UNREADABLE
from cede.live.api.values import NAME, NAME_IN_WORDS
from cede.model.errors import CedeError, shown
from cede.model.errors import Problem as Found
from cede.model.reports import Finding, Hints, findings_of
from cede.model.rules import Rule

MEDIA_TYPE: Final = "application/problem+json"
_MOST_ERRORS = 100


class Place(BaseModel):
    """One thing that is wrong, and where."""

    place: str = Field(description="As people write it: requests.cpu; empty for the whole.")
    message: str
    hint: str | None = None


class ProblemDocument(BaseModel):
    """Why something was refused."""

    type: str = Field("about:blank", description="Always about:blank: `rule` says what kind of problem it is.")
    title: str
    status: int
    detail: str
    rule: str = Field(description="The rule that refused.")
    errors: list[Place] = Field(default_factory=list)


class RefusedError(CedeError):
    """An answer that is a problem document."""

    def __init__(
        self,
        status: int,
        rule: str,
        detail: str,
        errors: Iterable[Place] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.rule = rule
        self.detail = detail
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        self.audited = False


def refusal(status: int, rule: Rule, **facts: object) -> RefusedError:
    """A refusal by this rule, with its sentence filled in."""
    return RefusedError(status, rule.id, rule.because(**facts))


def invalid(
    problems: Iterable[Found], status: int = HTTPStatus.UNPROCESSABLE_ENTITY, rule: Rule = INVALID
) -> RefusedError:
    """A refusal of what was sent, with every place that is wrong."""
    faults = tuple(problems)
    places = [Place(place=p.path, message=p.message, hint=p.hint) for p in faults[:_MOST_ERRORS]]
    rest = len(faults) - 1
    more = f" (and {rest} more)" if rest > 0 else ""
    said = f"{faults[0]}{more}"
    # Of a rule that has a sentence of its own, the place says it with what it is about.
    return RefusedError(status, rule.id, rule.because(why=said) if "{why}" in rule.sentence else said, places)


def response(refused: RefusedError) -> JSONResponse:
    """The problem document as an answer."""
    document = ProblemDocument(
        title=HTTPStatus(refused.status).phrase,
        status=refused.status,
        detail=refused.detail,
        rule=refused.rule,
        errors=list(refused.errors),
    )
    return JSONResponse(
        document.model_dump(mode="json"), status_code=refused.status, headers=refused.headers, media_type=MEDIA_TYPE
    )


_MEANINGS: Final = {
    400: "The body cannot be read, or a priority is outside what the doctrine knows.",
    401: "No token, or one that is unknown, expired or revoked, or too many of those.",
    403: "The caller's role, project or policy does not allow it.",
    404: "There is no such thing that the caller may see.",
    405: "The path does not take this method.",
    408: "The body did not arrive in time.",
    409: "It cannot be done as things stand now.",
    413: "The body is too large.",
    422: "What was sent cannot be used; `errors` names the places.",
    429: "The caller has too much of this under way.",
    431: "What comes before the body is too long.",
    500: "The server failed; its log says more.",
    503: "The server is too busy to answer in time, or something keeps it from its work.",
}


Responses = dict[int | str, dict[str, Any]]


def declared(*statuses: int) -> Responses:
    """The OpenAPI description of these refusals."""
    schema = {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}
    return {
        status: {"description": _MEANINGS[status], "content": {MEDIA_TYPE: schema}}
        for status in sorted({*statuses, 431, 500, 503})
    }


_BODIES: dict[str, type[BaseModel]] = {
    "workloads": Submission,
    "cancel": CancelBody,
    "suspend": SuspendBody,
    "drain": DrainBody,
    "plan": PlanBody,
    "diff": WhatIfBody,
    "tokens": TokenBody,
    "renew": RenewBody,
}
"""By the end of the path, for hints at the nearest key."""


class _Listed:
    """Errors in the shape in which pydantic gives them."""

    def __init__(self, errors: Sequence[dict[str, Any]]) -> None:
        self._errors = errors

    def errors(self, *, include_url: bool) -> Sequence[dict[str, Any]]:
        return self._errors


def unusable(request: Request, error: RequestValidationError) -> RefusedError:
    """The refusal of a request whose parameters or body are not of the right shape."""
    listed = [dict(one) for one in error.errors()]
    broken = next((one for one in listed if one["type"] == "json_invalid"), None)
    if broken is not None:
        why = f"{broken['ctx']['error']} at character {broken['loc'][-1]}"
        return refusal(400, UNREADABLE, why=why)
    body = _BODIES.get(request.url.path.rpartition("/")[2], BaseModel)
    findings: list[Finding] = []
    for one in listed:
        where, *loc = one["loc"]
        kind = "model_type" if one["type"] == "model_attributes_type" else one["type"]
        if kind == "string_pattern_mismatch" and one["ctx"]["pattern"] == NAME:
            one["msg"] = f"{shown(one['input'])} is no name; {NAME_IN_WORDS}"
        shaped = cast(ValidationError, _Listed([one | {"loc": tuple(loc), "type": kind}]))
        findings += findings_of(shaped, body if where == "body" else BaseModel, Hints())
    return invalid(finding.problem() for finding in findings)
