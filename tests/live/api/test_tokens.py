"""Tokens expire, are renewed, and say so."""

import asyncio
from pathlib import Path

import pytest

from cede.live.api.tokens import KnownTokens, first_token, hash_of
from cede.live.client import Client, ClientError
from cede.live.client.discovery import find
from cede.live.store.store import Store
from cede.model.times import SECOND, parse_time
from tests.live.api.serving import Running, serving

DAY = 86400 * SECOND


def test_a_new_token_stands_for_ninety_days(running: Running) -> None:
    made = running.client().make_token("tom")

    assert made["expires"] is not None
    assert parse_time(made["expires"]) - parse_time(made["at"]) == 90 * DAY


def test_whoever_makes_a_token_may_say_how_long_it_stands(running: Running) -> None:
    made = running.client().make_token("tom", expires_in="720h")

    assert parse_time(str(made["expires"])) - parse_time(made["at"]) == 30 * DAY
    for wrong in (0, "11y", "90000h"):
        answer = running.ask("POST", "/tokens", json={"user": "tom", "expires_in": wrong})
        assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, "expires_in")


def test_the_configuration_says_how_long_tokens_stand(tmp_path: Path) -> None:
    with serving(tmp_path, token_lifetime="168h") as made:
        token = made.client().make_token("tom")

        assert parse_time(str(token["expires"])) - parse_time(token["at"]) == 7 * DAY


def test_an_expired_token_stands_for_nobody_and_that_is_on_record(running: Running) -> None:
    now = running.server.clock.wall_now()
    running.server.store.add_token(hash_of("a-token-of-yore"), "tom", "user", (), now - 2 * SECOND, now - SECOND)
    client = Client(running.url, "a-token-of-yore")

    with pytest.raises(ClientError, match="the token of tom expired at") as caught:
        client.jobs()

    assert (caught.value.status, caught.value.rule) == (401, "live.expired-token")
    assert any(one["what"] == "sign in" and one["by"] == "tom" for one in running.client().audit())


def test_an_admin_renews_any_token_and_everybody_its_own(running: Running) -> None:
    made = running.client().make_token("bob", expires_in="24h")
    other = running.client().make_token("eve", expires_in="24h")
    own = Client(running.url, made["token"])

    renewed = own.renew_token(made["id"], expires_in="480h")
    assert parse_time(str(renewed["expires"])) - parse_time(made["at"]) >= 20 * DAY
    with pytest.raises(ClientError, match="renewing a token of others takes an admin"):
        own.renew_token(other["id"])
    by_admin = running.client().renew_token(other["id"])
    assert parse_time(str(by_admin["expires"])) - parse_time(made["at"]) >= 90 * DAY
    own.close()


def test_nobody_but_an_admin_renews_a_token_for_longer_than_a_new_one_stands(running: Running) -> None:
    made = running.client().make_token("bob", expires_in="24h")
    own = Client(running.url, made["token"])

    with pytest.raises(ClientError, match="more than the 2160h") as caught:
        own.renew_token(made["id"], expires_in="2161h")
    assert (caught.value.status, caught.value.rule) == (403, "live.above-limit")
    assert running.client().renew_token(made["id"], expires_in="2161h")["id"] == made["id"]
    own.close()


def test_a_token_that_is_revoked_while_it_is_looked_up_is_not_remembered(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'cede.db'}")
    number = store.add_token("hash", "tom", "user", (), 7)
    known = KnownTokens(store)

    async def meanwhile() -> list[bool]:
        looking = asyncio.create_task(known.holder("hash"))
        await asyncio.sleep(0)  # it is being looked up
        store.revoke(number)
        known.clear()
        await looking
        return [await known.holder("hash") is None]

    assert asyncio.run(meanwhile()) == [True]
    store.close()


def test_what_is_revoked_or_never_expires_is_not_renewed(running: Running) -> None:
    client = running.client()
    gone = client.make_token("tom")["id"]
    client.revoke_token(gone)
    forever = next(token["id"] for token in client.tokens() if token["expires"] is None)

    for number, rule in ((gone, "live.unknown"), (forever, "live.never-expires"), (10**6, "live.unknown")):
        with pytest.raises(ClientError) as caught:
            client.renew_token(number)
        assert caught.value.rule == rule


def test_the_first_admin_does_not_expire(tmp_path: Path) -> None:
    store = Store.open(f"sqlite:///{tmp_path / 'cede.db'}")
    first_token(store, {}, 7)

    assert [token.expires for token in store.tokens()] == [None]
    store.close()


def test_a_token_may_have_white_space_around_it_and_an_empty_one_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEDE_DATA", str(tmp_path))
    for given in ("  \n", ""):
        monkeypatch.setenv("CEDE_TOKEN", given)
        with pytest.raises(ClientError, match="no token for"):
            find("http://127.0.0.1:9", None, None)
    monkeypatch.setenv("CEDE_TOKEN", "cede_secret\r\n")
    assert find("http://127.0.0.1:9", None, None) == ("http://127.0.0.1:9", "cede_secret")
    assert find("http://127.0.0.1:9", " cede_other ", None) == ("http://127.0.0.1:9", "cede_other")
