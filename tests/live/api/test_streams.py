"""Events as they happen."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from cede.engine.drive.step import Transition
from cede.live.api.event_streams import MOST_UNREAD, Reader
from cede.live.client import ClientError
from cede.live.store.records import Event
from cede.model.lifecycle import Phase
from tests.live.api.serving import DEADLINE_S, Running, until


def messages(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """Each message of a stream, by its fields."""
    fields: dict[str, Any] = {}
    for line in response.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            yield fields | {"data": json.loads(fields["data"])}
            fields = {}


def follow(running: Running, user: str, **more: Any) -> Any:
    headers = {"Authorization": f"Bearer {running.tokens[user]}", "Accept": "text/event-stream"}
    headers |= more.pop("headers", {})
    return httpx.stream("GET", f"{running.url}/api/v1/events", headers=headers, timeout=DEADLINE_S, **more)


def test_a_stream_tells_what_happens_from_now_on(running: Running) -> None:
    with follow(running, "alice") as response:
        running.submit("alice", name="streamed")
        seen = []
        for message in messages(response):
            seen.append(message["data"]["after"])
            if seen[-1] == "completed":
                break

    assert response.headers["content-type"].startswith("text/event-stream")
    assert seen == ["pending", "starting", "running", "completed"]


def test_a_stream_goes_on_where_its_reader_left_it(running: Running) -> None:
    client = running.client("alice")
    client.submit(["true"], name="resumed", cwd="/tmp")
    client.wait("resumed", DEADLINE_S)
    numbers = [event["number"] for event in client.events(workload="resumed")]

    with follow(
        running, "alice", headers={"Last-Event-ID": str(numbers[1])}, params={"workload": "resumed"}
    ) as response:
        stream = messages(response)
        rest = [int(next(stream)["id"]) for _ in numbers[2:]]

    assert rest == numbers[2:]


def test_a_stream_says_nothing_of_what_its_reader_may_not_see(running: Running) -> None:
    with follow(running, "bob", params={"after": 0}) as response:
        running.submit("eve", name="secret")
        running.submit("bob", name="last-of-bob")
        seen = set()
        for message in messages(response):
            seen.add(message["data"]["workload"])
            if message["data"]["workload"] == "last-of-bob" and message["data"]["after"] == "completed":
                break

    assert "secret" not in seen


def test_a_client_waits_without_asking_again_and_again(running: Running) -> None:
    client = running.client("alice")
    client.submit(["sleep", "600"], name="waited-for", cwd="/tmp")
    timer = threading.Timer(0.3, lambda: running.client("alice").cancel("waited-for"))
    timer.start()

    ended = client.wait("waited-for", DEADLINE_S)
    timer.join()

    assert ended["state"] == "cancelled"
    assert "alice cancelled it" in ended["why"] or ended["rule"] == "live.cancelled"


def test_a_client_does_not_wait_longer_than_it_was_told(running: Running) -> None:
    client = running.client("alice")
    client.submit(["sleep", "600"], name="too-long", cwd="/tmp")

    with pytest.raises(TimeoutError, match="too-long is not"):
        client.wait("too-long", 0.3)


def test_whoever_waits_for_what_is_not_there_is_told_at_once(running: Running) -> None:
    with pytest.raises(ClientError) as caught:
        running.client("alice").wait("nowhere", DEADLINE_S)

    assert caught.value.rule == "live.not-visible"


def test_one_caller_has_a_bounded_number_of_streams(running: Running) -> None:
    streams = [follow(running, "guest") for _ in range(21)]
    answers = [stream.__enter__() for stream in streams]
    statuses = [answer.status_code for answer in answers]
    for stream in streams:
        stream.__exit__(None, None, None)

    assert statuses == [200] * 20 + [429]
    # A reader that left is not counted any more.
    until(lambda: _can_follow(running))


def _can_follow(running: Running) -> bool:
    with follow(running, "guest") as response:
        return bool(response.status_code == 200)


def test_a_reader_that_is_too_slow_is_told_so() -> None:
    async def read() -> tuple[list[Event], bool]:
        reader = Reader()
        for number in range(MOST_UNREAD + 1):
            reader.put([Event(number, Transition(0, "a", 0, "submit", None, Phase.PENDING))])
        return await reader.next(), reader.slow

    assert asyncio.run(read()) == ([], True)


def test_a_log_is_followed_until_its_attempt_ended(running: Running) -> None:
    client = running.client("alice")
    client.submit(["sh", "-c", "for i in 1 2 3; do echo $i; sleep 0.2; done"], name="talks", cwd="/tmp")

    assert b"".join(client.logs("talks", follow=True)) == b"1\n2\n3\n"


def test_a_log_is_read_in_bounded_pages(running: Running) -> None:
    client = running.client("alice")
    client.submit(["sh", "-c", "yes | head -c 100000"], name="long", cwd="/tmp")
    client.wait("long", DEADLINE_S)

    page = running.ask("GET", "/workloads/long/logs", params={"offset": 10, "limit": 7})
    too_much = running.ask("GET", "/workloads/long/logs", params={"limit": 2**20 + 1})

    assert (page.content, page.headers["Cede-Log-Start"], page.headers["Cede-Log-Next"]) == (b"y\ny\ny\ny", "10", "17")
    assert too_much.status_code == 422
    assert len(b"".join(client.logs("long"))) == 100_000


def test_who_leaves_is_told_nothing_more(running: Running) -> None:
    """A bound method is another object at every look: whoever leaves is known by what it is."""
    heard: list[Sequence[Event]] = []
    running.server.controller.subscribe(heard.append)
    running.server.controller.unsubscribe(heard.append)
    client = running.client("alice")
    client.submit(["true"], name="unheard", cwd="/tmp")
    client.wait("unheard", DEADLINE_S)

    assert heard == []
