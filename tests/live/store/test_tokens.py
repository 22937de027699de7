import pytest

from cede.live.store.store import Store, TakenError, Token
from tests.live.store.entries import START

HASH, OTHER = "a" * 64, "b" * 64


def test_a_token_is_found_by_its_hash(store: Store) -> None:
    number = store.add_token(HASH, "ann", "user", ("x", "y"), START)

    assert store.token(HASH) == Token(number, "ann", "user", ("x", "y"), START, revoked=False)
    assert store.token(OTHER) is None


def test_a_revoked_token_stands_for_nobody_and_is_still_listed(store: Store) -> None:
    store.add_token(HASH, "ann", "user", (), START)
    second = store.add_token(OTHER, "ann", "admin", (), START)

    assert store.revoke(second) == 1
    assert store.token(OTHER) is None
    assert store.token(HASH) is not None
    assert store.revoke("ann") == 1
    assert store.revoke("nobody") == 0
    assert [(one.id, one.revoked) for one in store.tokens()] == [(1, True), (2, True)]


def test_a_token_is_given_once(store: Store) -> None:
    store.add_token(HASH, "ann", "user", (), START)

    with pytest.raises(TakenError):
        store.add_token(HASH, "bob", "user", (), START)
