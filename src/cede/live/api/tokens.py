"""Tokens: made, shown once, and known again by their hash."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool

from cede.live.store.errors import TakenError
from cede.live.store.records import Token
from cede.live.store.store import Store
from cede.model.errors import InputError, Problem

ADMIN = "admin"
VARIABLE = "CEDE_ADMIN_TOKEN"
_KNOWN_FOR_S = 2.0
_MOST_KNOWN = 1000
_MADE = re.compile(r"cede_[A-Za-z0-9_-]{43}")
_LEAST = 16
_MOST = 500


def new_token() -> str:
    """A token nobody can guess."""
    return f"cede_{secrets.token_urlsafe(32)}"


def is_of_a_server(token: str) -> bool:
    """Whether it is made like those that a server makes: nobody guesses one of them."""
    return _MADE.fullmatch(token) is not None


def hash_of(token: str) -> str:
    """What is kept of a token. It has 256 random bits, so that a fast hash cannot be searched."""
    return hashlib.sha256(token.encode()).hexdigest()


class KnownTokens:
    """Tokens that were looked up a moment ago. Revoking one clears this, so that it ends at once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[Token, float]] = {}
        self._cleared = 0

    async def holder(self, digest: str) -> Token | None:
        """Whom the token with this hash stands for; none if it is unknown or revoked.

        It is looked for by its hash: how long that takes says nothing about the token.
        """
        now = time.monotonic()
        known = self._known.get(digest)
        if known is not None and now < known[1]:
            return known[0]
        cleared = self._cleared
        token = await run_in_threadpool(self._store.token, digest)
        if token is None or token.revoked:
            self._known.pop(digest, None)
            return None
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        if cleared == self._cleared:  # or it was looked up before somebody was revoked, and may be the one
            self._known[digest] = (token, now + _KNOWN_FOR_S)
        return token

    def clear(self) -> None:
        self._cleared += 1
        self._known.clear()


def first_token(store: Store, environ: Mapping[str, str], now: int) -> str | None:
    """The admin token to show, once: made where the store has none, or taken from the environment where it is new."""
    given = environ.get(VARIABLE)
    if given is not None:
        if not _LEAST <= len(given) <= _MOST or not given.isascii() or not given.isprintable() or " " in given:
            message = f"is no token: {_LEAST} to {_MOST} printable ASCII characters without blanks"
            raise InputError([Problem(VARIABLE, message)])
        if store.token(hash_of(given)) is None:
            try:
                store.add_token(hash_of(given), ADMIN, ADMIN, (), now)
            except TakenError:
                raise InputError([Problem(VARIABLE, "is a token that was revoked", "give another")]) from None
        return None
    if any(token.role == ADMIN and not token.revoked for token in store.tokens()):
        return None
    token = new_token()
    store.add_token(hash_of(token), ADMIN, ADMIN, (), now)
    return token
