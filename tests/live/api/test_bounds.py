"""Nothing that is sent makes the server work or wait without end, and every refusal is a problem document."""

import asyncio
import socket
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from cede.live.api import body_limits
from cede.live.api.deadlines import WhatIfPool, in_time
from cede.live.api.problems import RefusedError
from tests.live.api.serving import DEADLINE_S, Running, serving, until


def test_a_huge_body_is_refused_before_it_is_read(running: Running) -> None:
    answer = running.ask("POST", "/workloads", content=b" " * 1_000_001)

    assert (answer.status_code, answer.json()["rule"]) == (413, "live.too-large")


def test_a_body_that_announces_too_much_is_refused_at_its_head(running: Running) -> None:
    address = urlsplit(running.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=DEADLINE_S) as line:
        line.sendall(b"POST /api/v1/workloads HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        head = line.recv(100)

    assert head.startswith(b"HTTP/1.1 413 ")


def test_a_body_that_grows_too_large_on_its_way_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path, max_body=1000) as made:
        chunks = (b'{"command": ["' if at == 0 else b"x" * 100 for at in range(20))
        answer = made.ask("POST", "/workloads", content=chunks)

    assert (answer.status_code, answer.json()["rule"]) == (413, "live.too-large")


def test_a_body_that_never_arrives_is_given_up(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limits, "ARRIVES_WITHIN_S", 0.2)
    address = urlsplit(running.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=DEADLINE_S) as line:
        known = f"Authorization: Bearer {running.tokens['alice']}".encode()
        line.sendall(b"POST /api/v1/workloads HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n" + known + b"\r\n\r\n{")
        head = line.recv(100)

    assert head.startswith(b"HTTP/1.1 408 ")


def test_an_answer_that_does_not_come_in_time_is_refused() -> None:
    with pytest.raises(RefusedError) as caught:
        asyncio.run(in_time(Future(), 0.05))

    assert (caught.value.status, caught.value.rule) == (503, "live.busy")


@pytest.mark.parametrize(
    ("method", "path", "status", "rule"),
    [
        ("GET", "/nothing", 404, "live.no-such-path"),
        ("GET", "/../../etc/passwd", 404, "live.no-such-path"),
        ("GET", "/workloads/..%2f..%2fetc%2fpasswd/logs", 404, "live.no-such-path"),
        ("GET", "/workloads/%00", 404, "live.not-visible"),
        ("PUT", "/workloads", 405, "live.no-such-method"),
        ("GET", "/workloads?limit=1001", 422, "live.invalid"),
        ("GET", "/workloads?colour=red", 422, "live.invalid"),
        ("GET", "/workloads?state=asleep", 422, "live.invalid"),
        ("GET", "/events?after=-1", 422, "live.invalid"),
        ("GET", "/decisions/99999999999999999999", 422, "live.invalid"),
        ("GET", "/decisions/12345", 404, "live.unknown"),
        ("POST", "/nodes/nowhere/drain", 404, "live.unknown"),
        ("DELETE", "/tokens/12345", 404, "live.unknown"),
    ],
)
def test_a_refusal_is_a_problem_document(running: Running, method: str, path: str, status: int, rule: str) -> None:
    answer = running.ask(method, path)

    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"], problem["rule"]) == (status, status, rule)
    assert problem["detail"]


def test_a_path_that_takes_other_methods_says_which(running: Running) -> None:
    assert running.ask("PUT", "/workloads").headers["allow"] == "GET, POST"


def test_a_failure_of_the_server_shows_nothing_of_its_inside(tmp_path: Path) -> None:
    with serving(tmp_path) as made:
        made.server.store = None  # type: ignore[assignment]  # a part that is broken

        answer = made.ask("GET", "/audit")

    assert (answer.status_code, answer.json()["rule"]) == (500, "live.internal")
    assert "Traceback" not in answer.text
    assert "NoneType" not in answer.text


def test_lists_come_in_pages(running: Running) -> None:
    names = [running.submit("alice", name=f"paged-{number}").json()["name"] for number in range(5)]

    first = running.ask("GET", "/workloads", params={"limit": 2, "order": "oldest", "user": "alice"}).json()
    second = running.ask(
        "GET", "/workloads", params={"limit": 3, "order": "oldest", "user": "alice", "after": first["next"]}
    ).json()

    assert [job["name"] for page in (first, second) for job in page["workloads"]] == names
    assert second["next"] is None
    assert [job["name"] for job in running.client("alice").jobs(user=["alice"], limit=2)] == names[:2:-1]


def test_a_caller_asks_one_what_if_at_a_time(running: Running) -> None:
    what_ifs = running.server.what_ifs
    blocked = threading.Event()
    busy = threading.Thread(target=_occupy, args=(what_ifs, "root-admin", blocked))
    busy.start()
    until(lambda: "root-admin" in what_ifs.callers)

    refused = running.ask("POST", "/plan", json={})
    other = running.ask("POST", "/plan", "alice", json={})
    blocked.set()
    busy.join(DEADLINE_S)

    assert (refused.status_code, refused.json()["rule"]) == (429, "live.one-at-a-time")
    assert other.status_code == 200


def _occupy(what_ifs: WhatIfPool, caller: str, blocked: threading.Event) -> None:
    asyncio.run(what_ifs.run(caller, lambda: blocked.wait(DEADLINE_S)))


def test_a_what_if_cannot_ask_for_a_million_nodes(running: Running) -> None:
    answer = running.ask("POST", "/plan", "bob", json={"set": ["nodes[n1].count=1000000"]})

    assert answer.status_code == 422
    assert "a question may add" in answer.json()["detail"]


def test_the_openapi_document_declares_problem_documents(running: Running) -> None:
    document = httpx.get(f"{running.url}/api/v1/openapi.json", trust_env=False).json()

    refusals = [
        answer
        for path in document["paths"].values()
        for method in path.values()
        for status, answer in method["responses"].items()
        if status >= "400"
    ]
    assert len(refusals) > 100
    assert {tuple(answer["content"]) for answer in refusals} == {("application/problem+json",)}
    assert "HTTPValidationError" not in document["components"]["schemas"]


CANNOT_BE_PRINTED = "a\x1b[31mb"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"app": CANNOT_BE_PRINTED}, "app"),
        ({"project": CANNOT_BE_PRINTED}, "project"),
        ({"tenant": "a\u202eb"}, "tenant"),
        ({"constraints": {"labels": {"zone": "a\nb"}}}, "constraints.labels"),
        ({"constraints": {"labels": {"z\x00": "b"}}}, "constraints.labels"),
        ({"constraints": {"labels": {"zone": "x" * 254}}}, "constraints.labels"),
        ({"pod_sets": [{"name": CANNOT_BE_PRINTED, "count": 1, "requests": {"cpu": 1}}]}, "pod_sets[0].name"),
    ],
)
def test_names_and_labels_are_text_that_can_be_printed(running: Running, body: dict[str, Any], place: str) -> None:
    answer = running.submit("alice", **body)

    assert (answer.status_code, answer.json()["errors"][0]["place"]) == (422, place)
    assert answer.json()["detail"].isprintable()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"[" * 100_000 + b"]" * 100_000, "it is nested too deeply"),
        (b'{"command": ["\xff"], "cwd": "/"}', "byte 14 is no UTF-8"),
        (b'{"command": ["true"], "cwd": "/", "priority": ' + b"9" * 5000 + b"}", "more than 4300 digits"),
    ],
)
def test_a_body_that_cannot_be_read_is_told_why(running: Running, body: bytes, why: str) -> None:
    answer = running.ask("POST", "/workloads", content=body, headers={"Content-Type": "application/json"})

    assert (answer.status_code, answer.json()["rule"]) == (400, "live.unreadable")
    assert why in answer.json()["detail"]


def test_headers_are_bounded_however_they_come(running: Running) -> None:
    for long in ({"X-Long": "a" * 20_000}, {f"X-{at}": "a" for at in range(3000)}):
        answer = running.ask("GET", "/health", headers=long)

        assert (answer.status_code, answer.json()["rule"]) == (431, "live.long-headers")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/workloads?limit=0", "limit: '0' is too small; the least is 1"),
        ("/workloads?limit=abc", "limit: 'abc' is no whole number"),
        ("/workloads?queue=" + "q" * 254, "queue: has 254 characters; the most is 253"),
    ],
)
def test_a_parameter_that_is_wrong_is_told_of_in_our_words(running: Running, path: str, said: str) -> None:
    assert said in running.ask("GET", path).json()["detail"]
