"""What FastAPI found wrong with a request, in our words and with its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

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
from cede.live.api.problems import RefusedError, invalid, refusal
from cede.live.api.rules import UNREADABLE
from cede.live.api.values import NAME, NAME_IN_WORDS
from cede.model.errors import shown
from cede.model.reports import Finding, Hints, findings_of

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
