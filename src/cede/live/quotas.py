"""Whose quota work counts to: a tenant that the cluster file has none of would be no limit at all."""

from __future__ import annotations

from collections.abc import Iterable

from cede.live.config import User
from cede.model.cluster import ClusterFile
from cede.model.errors import InputError, Problem, did_you_mean, shown

_SHOWN = 5


def no_tenant(document: ClusterFile, name: str | None, place: str = "tenant") -> Problem | None:
    """What is wrong with the name of a tenant, where the file has tenants."""
    known = [tenant.name for tenant in document.tenants]
    if name is None or not known or name in known:
        return None
    hint = did_you_mean(name, known) or f"the cluster file has {', '.join(sorted(known)[:_SHOWN])}"
    return Problem(place, f"no tenant is called {shown(name)}", hint)


def check_tenants(document: ClusterFile, users: Iterable[User]) -> None:
    """An InputError names every user of the configuration whose tenant is none."""
    found = (no_tenant(document, user.tenant, f"users[{user.name}].tenant") for user in users)
    if problems := [problem for problem in found if problem is not None]:
        raise InputError(problems)
