"""Connections that say nothing, or send much without a token, keep nobody out: told by counting, not by time."""

import json
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from cede.live.api import body_limits, connections
from cede.live.api.body_limits import BoundedBodies
from cede.live.api.connections import ConnectionLimits, Share, connection_limit
from cede.live.api.problems import RefusedError
from cede.live.api.tokens import new_token
from cede.live.api.wrong_tokens import LOOPBACK, WrongTokens, address_of
from cede.live.api.wrong_tokens import MOST as MOST_WRONG
from tests.live.api.serving import DEADLINE_S, USERS, Running, serving
from tests.live.serving import serving as serving_all

FILES = 256
"""What the server of these tests may open."""
ARENA = 64 << 20
"""So much glibc sets aside for each part of the memory from which threads allocate."""


@dataclass
class Served:
    url: str
    token: str
    pid: int
    lines: list[socket.socket] = field(default_factory=list)

    def open(self, sent: bytes = b"") -> socket.socket:
        """One more connection, over which this was sent."""
        address = urlsplit(self.url)
        line = socket.create_connection((address.hostname, address.port), timeout=DEADLINE_S)
        self.lines.append(line)
        if sent:
            line.sendall(sent)
        return line

    def ask(self, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(f"{self.url}/api/v1/server", headers=headers, timeout=DEADLINE_S, trust_env=False, **more)

    def files(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.pid}/fd").iterdir())


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, which may open few files."""
    data = tmp_path_factory.mktemp("data")
    few = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))"
    run = f"{few}; import sys; from cede.cli.main import main; sys.exit(main(sys.argv[1:]))"
    arguments = ["serve", "--data", str(data), "--port", "0", "--json"]
    with subprocess.Popen([sys.executable, "-c", run, *arguments], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        made = Served(told["url"], told["token"], process.pid)
        try:
            yield made
        finally:
            for line in made.lines:
                line.close()
            process.terminate()
            process.wait(DEADLINE_S)


def is_open(line: socket.socket) -> bool:
    """Whether the server has not closed it."""
    line.setblocking(False)
    try:
        return line.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def test_connections_that_say_nothing_stop_nobody(served: Served) -> None:
    for number in range(2 * FILES):
        served.open(b"" if number % 2 else b"GET /api/v1/server HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        if number % 64 == 0:
            assert served.ask().status_code == 200

    assert served.ask().status_code == 200
    assert served.files() < FILES
    assert sum(map(is_open, served.lines)) <= FILES // 2


def test_threads_share_what_they_allocate_from(served: Served) -> None:
    """Each part of its own would keep what was free in it."""
    with ThreadPoolExecutor(16) as pool:
        assert {answer.status_code for answer in pool.map(lambda _: served.ask(), range(64))} == {200}

    parts = [line.split()[:2] for line in Path(f"/proc/{served.pid}/maps").read_text().splitlines()]
    places = [(int(place.split("-")[0], 16), int(place.split("-")[1], 16), rights) for place, rights in parts]
    arenas = [
        first
        for (first, between, used), (after, last, spare) in pairwise(places)
        if (used, spare, after, last - first) == ("rw-p", "---p", between, ARENA) and first % ARENA == 0
    ]
    assert len(arenas) <= 1


def test_bodies_of_strangers_are_refused_before_they_are_read(served: Served) -> None:
    head = b"POST /api/v1/workloads HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n{"
    refused = 0
    for _ in range(FILES):
        with served.open(head) as line:
            refused += line.recv(100).startswith(b"HTTP/1.1 401 ")

    assert refused == FILES


@pytest.mark.parametrize(
    "sent", [b"\0\1\2\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"]
)
def test_what_strangers_send_leaves_no_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    with serving_all(tmp_path) as live:
        address = urlsplit(live.client.url)
        with socket.create_connection((address.hostname, address.port), timeout=DEADLINE_S) as line:
            line.sendall(sent)
            assert line.recv(100).startswith(b"HTTP/1.1 40")

    assert [record.getMessage() for record in caplog.records if record.name.startswith("uvicorn")] == []


def test_a_request_that_never_ends_is_given_up_the_second_time_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_WITHIN_S", 0.3)
    with serving_all(tmp_path) as live:
        made = Served(live.client.url, "", 0)
        with made.open(b"GET /health HTTP/1.1\r\nHost: x\r\n") as line:
            assert until_closed(line) == b""
        with made.open(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /health HTTP/1.1\r\nHo") as line:
            assert until_closed(line).count(b"HTTP/1.1 200 ") == 1


def until_closed(line: socket.socket) -> bytes:
    """What comes until the server closes the connection; it is an error if it does not."""
    received = b""
    with suppress(ConnectionResetError):
        while part := line.recv(10_000):
            received += part
    return received


class Place:
    """A connection to be counted: it knows whether it was closed."""

    def __init__(self, *, idle: bool = True) -> None:
        self.idle = idle
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def entered(share: Share, address: str, count: int) -> list[Place]:
    made = [Place() for _ in range(count)]
    for place in made:
        share.enter(place, address)
    return made


def test_the_oldest_stranger_of_the_address_with_the_most_makes_room() -> None:
    share = Share(16, 1.0)
    crowd, one = entered(share, "10.0.0.1", 7), entered(share, "10.0.0.2", 1)
    newcomer = entered(share, "10.0.0.3", 1)

    assert [place.dropped for place in (*crowd, *one, *newcomer)] == [True, *[False] * 8]


def test_one_address_has_a_part_of_the_strangers() -> None:
    share = Share(80, 0.25)
    crowd = entered(share, "10.0.0.1", 25)

    assert [place.dropped for place in crowd] == [True] * 15 + [False] * 10


def test_one_token_has_a_part_of_the_known_and_loses_what_is_idle_first() -> None:
    share = Share(16, 1.0)
    busy = [Place(idle=False) for _ in range(3)]
    idle = Place()
    for place in (*busy, idle):
        share.enter(place, LOOPBACK)
        share.know(place, 1)
    more = Place(idle=False)
    share.enter(more, LOOPBACK)
    share.know(more, 1)

    assert idle.dropped
    with pytest.raises(RefusedError, match="4 connections are open with this token"):
        share.know(Place(), 1)
    for token in range(2, 6):
        share.know(Place(idle=False), token)
    with pytest.raises(RefusedError, match="all 8 connections"):
        share.know(Place(), 9)


def test_this_machine_has_the_larger_share_of_its_own() -> None:
    limits = ConnectionLimits(100)
    others = entered(limits.share("10.0.0.1"), "10.0.0.1", 1000)
    here = entered(limits.share(LOOPBACK), LOOPBACK, 30)

    assert sum(not place.dropped for place in others) == 5
    assert not any(place.dropped for place in here)


def test_there_are_fewer_connections_than_files() -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)

    assert connection_limit(None) == min(4096, soft // 2)
    assert connection_limit(100) == 100
    assert connection_limit(10**9) <= soft // 2


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", LOOPBACK),
        ("127.9.9.9", LOOPBACK),
        ("::1", LOOPBACK),
        ("::ffff:127.0.0.1", LOOPBACK),
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
    ],
)
def test_what_counts_as_one_address(host: str, address: str) -> None:
    assert address_of(host) == address


def test_bodies_in_hand_are_counted_for_each_token_and_in_all() -> None:
    bodies = BoundedBodies(None, 1000)  # type: ignore[arg-type]  # nothing is passed on
    for token in range(body_limits.MOST_BODIES // body_limits.MOST_OF_ONE):
        for _ in range(body_limits.MOST_OF_ONE):
            bodies._take_up(token)
        with pytest.raises(RefusedError) as one:
            bodies._take_up(token)
        assert one.value.status == 429
    with pytest.raises(RefusedError) as all_of_them:
        bodies._take_up(99)
    assert all_of_them.value.status == 503


def wrong(running: Running, token: str) -> str:
    answer = running.ask("GET", "/queues", None, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    rule: str = answer.json()["rule"]
    return rule


def test_wrong_tokens_are_throttled_and_on_record_and_lock_nobody_out(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        assert made.ask("GET", "/queues", "alice").status_code == 200
        rules = [wrong(made, f"guess-{number}") for number in range(MOST_WRONG + 3)]

        assert rules == ["live.wrong-token"] * MOST_WRONG + ["live.many-wrong-tokens"] * 3
        assert made.ask("GET", "/queues", "alice").status_code == 200
        assert wrong(made, made.tokens["bob"]) == "live.many-wrong-tokens"
        tried = [one for one in made.server.store.audit(limit=1000) if one.what == "sign in"]
        assert [(one.about, one.allowed, one.rule) for one in tried] == [
            (LOOPBACK, False, "live.wrong-token")
        ] * MOST_WRONG
        assert "refused unseen" in tried[-1].detail


def test_a_token_that_a_server_made_is_let_in_however_much_others_guess(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        fresh = made.client().make_token("bob")["token"]
        for number in range(MOST_WRONG):
            wrong(made, f"guess-{number}")

        assert wrong(made, new_token()) == "live.many-wrong-tokens"
        answer = made.ask("GET", "/queues", None, headers={"Authorization": f"Bearer {fresh}"})
        assert answer.status_code == 200


def test_wrong_tokens_are_forgotten_and_not_all_written_down() -> None:
    now = [0.0]
    tokens = WrongTokens(lambda: now[0])
    written = [tokens.wrong(f"10.0.{number // 250}.{number % 250}") for number in range(300)]
    assert (sum(map(bool, written)), "not written down" in written[199]) == (200, True)
    for _ in range(MOST_WRONG):
        tokens.wrong("10.9.9.9")
    assert tokens.is_kept_out("10.9.9.9", "a")
    now[0] = 61.0
    assert not tokens.is_kept_out("10.9.9.9", "a")


@contextmanager
def streams(running: Running, *users: str) -> Iterator[list[Any]]:
    opened = []
    with ExitStack() as stack:
        for user in users:
            headers = {"Authorization": f"Bearer {running.tokens[user]}"}
            url = f"{running.url}/api/v1/events?follow=true"
            opened.append(stack.enter_context(httpx.stream("GET", url, headers=headers, timeout=DEADLINE_S)))
        yield opened


def test_idle_streams_of_some_lock_out_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cede.live.api.event_streams.MOST_READERS", 6)
    monkeypatch.setattr("cede.live.api.event_streams.MOST_OF_ONE", 4)
    with serving(tmp_path) as made, streams(made, *["alice"] * 4, *["bob"] * 2, "eve") as opened:
        assert [response.status_code for response in opened] == [200] * 7
        assert "live.crowded-out" in opened[0].read().decode()
        assert made.ask("GET", "/events?follow=true", "alice").status_code == 503


def test_a_token_that_was_shown_before_it_was_revoked_opens_no_stream_after_that(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        number = next(token.id for token in made.server.store.tokens() if token.name == "alice")
        made.client().revoke_token(number)

        with pytest.raises(RefusedError) as caught, made.app.state.event_streams.reading("alice", number):
            pass
        assert (caught.value.status, caught.value.rule) == (401, "live.wrong-token")


def test_a_stream_ends_when_its_reader_may_see_something_else(tmp_path: Path) -> None:
    with serving(tmp_path) as made, streams(made, "root-admin", "bob") as (of_admin, of_bob):
        users = [user.model_copy(update={"role": "user"}) if user.role == "admin" else user for user in USERS]
        made.server.config = made.server.config.model_copy(update={"users": tuple(users)})
        made.submit("alice", name="top-secret").raise_for_status()

        told = of_admin.read().decode()
        assert "live.rights-changed" in told
        assert "top-secret" not in told
        assert not of_bob.is_closed


def test_a_revoked_token_ends_its_streams_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        numbers = {token.name: token.id for token in made.server.store.tokens()}
        with streams(made, "alice", "bob") as (of_alice, of_bob):
            made.client().revoke_token(numbers["alice"])

            assert "live.revoked" in of_alice.read().decode()
            assert made.ask("GET", "/queues", "alice").status_code == 401
            assert not of_bob.is_closed
            made.client().revoke_token(numbers["bob"])
            assert "live.revoked" in of_bob.read().decode()
