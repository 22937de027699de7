"""Tokens by their hashes: who each stands for, and whether it still does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from cede.live.store import codec
from cede.live.store.errors import TakenError
from cede.live.store.records import Token
from cede.live.store.tables import TOKENS, bounded, column

_COLUMNS = ("id", "name", "role", "projects", "at", "revoked", "expires")
_TOKEN = select(*(TOKENS.c[key] for key in _COLUMNS))


def add_token(
    connection: Connection,
    digest: str,
    name: str,
    role: str,
    projects: Sequence[str],
    at: int,
    expires: int | None,
) -> int:
    """The new token's id; without a time it expires never."""
    row = {"hash": digest, "name": column(name), "role": role, "at": at, "expires": expires}
    row |= {"projects": codec.text_of(list(projects))}
    try:
        added: int = connection.execute(insert(TOKENS).values(**row, revoked=False).returning(TOKENS.c.id)).scalar_one()
    except IntegrityError:
        raise TakenError("there is such a token already") from None
    return added


def token(connection: Connection, digest: str) -> Token | None:
    """Who the token with this hash stands for; none if it is not known or was revoked."""
    row = connection.execute(_TOKEN.where(TOKENS.c.hash == column(digest), TOKENS.c.revoked.is_(False))).first()
    return None if row is None else _token(row)


def revoke(connection: Connection, which: int | str) -> int:
    """How many tokens stand for nobody from now on: the one with this id, or all with this name."""
    chosen = TOKENS.c.id == bounded(which) if isinstance(which, int) else TOKENS.c.name == column(which)
    wanted = update(TOKENS).where(chosen, TOKENS.c.revoked.is_(False)).values(revoked=True)
    return connection.execute(wanted).rowcount


def renew(connection: Connection, number: int, expires: int) -> bool:
    """Whether the token stands for its user until then: it must not be revoked, nor be one that never expires."""
    chosen = TOKENS.c.id == bounded(number), TOKENS.c.revoked.is_(False), TOKENS.c.expires.is_not(None)
    return connection.execute(update(TOKENS).where(*chosen).values(expires=expires)).rowcount == 1


def tokens(connection: Connection) -> tuple[Token, ...]:
    """All there ever were, oldest first."""
    return tuple(_token(row) for row in connection.execute(_TOKEN.order_by(TOKENS.c.id)))


def _token(row: Row[*tuple[Any, ...]]) -> Token:
    projects = tuple(codec.plain_of(row.projects))
    return Token(row.id, row.name, row.role, projects, row.at, row.revoked, row.expires)
