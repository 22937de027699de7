"""A server for tests: the real store, controller and executor behind a real socket, in this process."""

from __future__ import annotations

import json
import os
import pwd
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from cede.doctrines.document import parse_document
from cede.engine.clock import SchedulerClock
from cede.engine.drive.facts import Cancel
from cede.live.api.app import close_app, create_app
from cede.live.api.server import Server
from cede.live.api.tokens import hash_of
from cede.live.client import Client
from cede.live.config import ServerConfig, User
from cede.live.controller import Controller
from cede.live.executors.local.executor import LocalExecutor
from cede.live.executors.local.gpus import NodeFacts
from cede.live.metrics import Metrics
from cede.live.store.records import AuditRequest
from cede.live.store.store import Store
from cede.model.lifecycle import FINAL

CLUSTER: dict[str, Any] = {
    "cede": 1,
    "now": "2026-01-01T00:00:00Z",
    "doctrine": "backendai",
    "nodes": [{"name": "n1", "capacity": {"cpu": 4, "memory": "8Gi"}}],
    "queues": [{"name": "default", "settings": {"preemptible_priority": 50}}],
    "policies": [
        {"user": "bob", "default_priority": 10, "max_priority": 20},
        {"project": "fixed", "may_change": False},
    ],
}
ACCOUNT = pwd.getpwuid(os.geteuid()).pw_name
USERS = (
    User(name="root-admin", role="admin", account=ACCOUNT),
    User(name="alice", projects=("ml", "fixed"), account=ACCOUNT),
    User(name="bob", projects=("ml",), account=ACCOUNT),
    User(name="eve", projects=("spies",), account=ACCOUNT),
    User(name="guest", role="viewer"),
    User(name="ml-guest", role="viewer", projects=("ml",)),
    User(name="homeless"),
)
DEADLINE_S = 30.0


@dataclass
class Running:
    """A server that listens; `tokens` has one for each user."""

    url: str
    server: Server
    app: Any
    tokens: dict[str, str]
    clients: list[Client] = field(default_factory=list)

    def client(self, user: str = "root-admin") -> Client:
        made = Client(self.url, self.tokens[user])
        self.clients.append(made)
        return made

    def ask(self, method: str, path: str, user: str | None = "root-admin", **more: Any) -> httpx.Response:
        """One bare request, as a program without our client would send it."""
        headers = {} if user is None else {"Authorization": f"Bearer {self.tokens[user]}"}
        headers |= more.pop("headers", {})
        return httpx.request(
            method, f"{self.url}/api/v1{path}", headers=headers, timeout=DEADLINE_S, trust_env=False, **more
        )

    def submit(self, user: str = "root-admin", /, **body: Any) -> httpx.Response:
        content = json.dumps({"command": ["true"], "cwd": "/tmp"} | body)
        return self.ask("POST", "/workloads", user, content=content, headers={"Content-Type": "application/json"})


@contextmanager
def serving(
    folder: Path, *, cluster: dict[str, Any] = CLUSTER, users: tuple[User, ...] = USERS, **config: Any
) -> Iterator[Running]:
    """A server with its data in this folder, listening on a port of its own."""
    document = parse_document(cluster)
    store = Store.open(f"sqlite:///{folder / 'cede.db'}")
    store.configure(document)
    metrics, clock = Metrics("test"), SchedulerClock()
    executor = LocalExecutor(folder, nodes={node.name: NodeFacts() for node in document.nodes})
    controller = Controller(store, executor, document, clock=clock, metrics=metrics)
    controller.start()
    server = Server(controller, store, executor, ServerConfig(users=users, **config), metrics, clock)
    tokens = {user.name: f"token-of-{user.name}" for user in users}
    for name, token in tokens.items():
        store.add_token(hash_of(token), name, "viewer", (), clock.now())
    app = create_app(server)
    listener = socket.create_server(("127.0.0.1", 0))
    running = Running(f"http://127.0.0.1:{listener.getsockname()[1]}", server, app, tokens)
    try:
        with _listening(app, listener):
            yield running
    finally:
        for client in running.clients:
            client.close()
        for name in _under_way(store):
            controller.ask(Cancel(name), AuditRequest(0, "tests", "admin", "cancel", name)).result(DEADLINE_S)
        until(lambda: not _under_way(store))
        controller.stop()
        executor.close()
        store.close()


def _under_way(store: Store) -> list[str]:
    return [record.job.name for record in store.workloads(limit=1000) if record.job.phase not in FINAL]


@contextmanager
def _listening(app: Any, listener: socket.socket) -> Iterator[None]:
    http = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=5, lifespan="off"))
    thread = threading.Thread(target=http.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until(lambda: http.started)
    try:
        yield
    finally:
        close_app(app)
        http.should_exit = True
        thread.join(DEADLINE_S)
        assert not thread.is_alive(), "the server stops"


def until(condition: Callable[[], bool], deadline_s: float = DEADLINE_S) -> None:
    """Wait until this is true; it is an error if that takes too long."""
    ends = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < ends, "it never came true"
        time.sleep(0.01)
