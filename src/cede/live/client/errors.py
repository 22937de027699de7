"""What a client raises when a server refuses, or cannot be reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from cede.model.errors import CedeError


class ClientError(CedeError):
    """A refusal: `status` is the HTTP status, 0 if no server answered; `rule` the rule that refused."""

    def __init__(self, status: int, rule: str, detail: str, errors: Sequence[Mapping[str, Any]] = ()) -> None:
        self.status = status
        self.rule = rule
        self.detail = detail
        self.errors = tuple(errors)
        super().__init__(detail)

    def __str__(self) -> str:
        if not self.errors:
            return self.detail
        return "\n".join(_line(one) for one in self.errors)


def _line(one: Mapping[str, Any]) -> str:
    text = f"{one['place']}: {one['message']}" if one.get("place") else str(one["message"])
    return f"{text} ({one['hint']})" if one.get("hint") else text


def error_of(response: httpx.Response) -> ClientError:
    """The problem document of an answer that is a refusal."""
    try:
        problem = response.json()
        return ClientError(response.status_code, problem["rule"], problem["detail"], problem.get("errors", ()))
    except (ValueError, KeyError, TypeError):
        detail = f"{response.request.url} answered {response.status_code}, and not like a Cede server"
        return ClientError(response.status_code, "", detail)
