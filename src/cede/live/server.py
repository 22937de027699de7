"""The server of `cede serve`: it makes its parts, joins them, and runs them until it is told to stop."""

from __future__ import annotations

import asyncio
import ctypes
import getpass
import logging
import os
import pwd
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

import uvicorn
from fastapi import FastAPI

from cede import __version__
from cede.doctrines.catalog import DEFAULT, doctrine_of
from cede.doctrines.document import parse_document
from cede.engine.clock import Machine, SchedulerClock
from cede.engine.dated import undated
from cede.engine.drive.facts import Exited, Fact
from cede.engine.drive.job import Job
from cede.live.api.app import close_app, create_app
from cede.live.api.connections import (
    KEPT_FOR_S,
    MOST_HEAD,
    ConnectionLimits,
    HttpConnection,
    connection_limit,
    tls_context,
)
from cede.live.api.rules import INVALID
from cede.live.api.server import Server
from cede.live.api.tokens import first_token, hash_of, new_token
from cede.live.api.wrong_tokens import LOOPBACK, address_of
from cede.live.broker import criu
from cede.live.broker.attempt_tokens import load_secret
from cede.live.broker.service import Broker
from cede.live.config import ServerConfig, reloaded
from cede.live.controller import Controller
from cede.live.data_directory import DataDirectory, Note, data_directory
from cede.live.executors.local.executor import LocalExecutor
from cede.live.executors.local.spec import LocalAttemptFiles
from cede.live.machine import gpu_ids, node_facts, this_machine
from cede.live.metrics import Metrics
from cede.live.owner_limits import check_limits, check_tenants, exceeding
from cede.live.store.records import AuditRequest
from cede.live.store.store import Store
from cede.live.terms import driver_options
from cede.model.cluster import ClusterFile
from cede.model.errors import CedeError, InputError, Problem, shown
from cede.model.lifecycle import PRESENT
from cede.model.quantities import NANO
from cede.model.resources import is_gpu


def check_under_way(document: ClusterFile, jobs: Iterable[Job]) -> None:
    """A CedeError names the first workload whose nodes, queue or priority the file does not have."""
    nodes = {node.name for node in document.nodes}
    queues = {queue.name for queue in document.queues} | {queue.parent for queue in document.queues}
    dialect = document.dialect
    low, high = dialect.priorities
    for job in jobs:
        own = job.workload
        missing = ""
        if gone := sorted(set(job.nodes) - nodes):
            missing = f"on {', '.join(gone)}, which the cluster file does not have"
        elif own.queue is not None and own.queue not in queues:
            missing = f"in the queue {own.queue}, which the cluster file does not have"
        elif own.priority is not None and not low <= own.priority <= high:
            missing = f"with priority {own.priority}, and under {dialect.name} priorities go from {low} to {high}"
        if missing:
            raise CedeError(f"{job.name} is {job.phase} {missing}; serve the former file until it has ended")


log = logging.getLogger("cede.server")

HOUSEKEEPING_S = 3600.0
WATCH_S = 1.0
M_ARENA_MAX = -8
"""The number that malloc.h has for it."""
STRAY = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)
"""Signals that mean something to other servers: none of them ends this one without a word."""
_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Ready:
    """What the process that started the server is told."""

    url: str
    data: Path
    token: str | None
    """The first admin token; it is shown once."""
    local_token: str
    notices: tuple[str, ...]
    adopted: int


def machine_document(nodes: int = 1) -> ClusterFile:
    """A cluster of this machine: its cores, memory and GPUs, as one node or as several."""
    data = {
        "cede": 1,
        "doctrine": DEFAULT,
        "nodes": this_machine("here", nodes),
        "queues": [{"name": "default", "settings": {"preemptible_priority": 100, "preemption_mode": "suspend"}}],
    }
    return parse_document(data)


class LiveServer:
    """Everything a server is made of. `run` blocks until it is told to stop; `start` and `stop` are for tests."""

    def __init__(
        self, config: ServerConfig, document: ClusterFile | None, *, nodes: int = 1, machine: Machine | None = None
    ) -> None:
        self.config = config
        self._nodes = nodes
        self._machine = machine or Machine()
        self._given = document
        self._stopped = threading.Event()
        self.failure: BaseException | None = None
        """What ended it, after `start`."""
        self._dead = ""
        """Why it ended though nobody asked for it."""
        self._uvicorn: uvicorn.Server | None = None
        self._wake: Callable[[], object] | None = None
        self._reread: Callable[[], ServerConfig] | None = None
        self._reloads = threading.Event()
        self._thread: threading.Thread | None = None
        self.ready: Ready | None = None
        self.controller: Controller | None = None

    def run(self, told: Callable[[Ready], None], reread: Callable[[], ServerConfig] | None = None) -> None:
        """Serve until SIGINT or SIGTERM; `told` is called once requests are answered.

        SIGHUP, which also comes when a terminal is closed, asks for the configuration that `reread` finds.
        """
        _share_memory()
        self._reread = reread
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: self._ask_to_stop())
        signal.signal(signal.SIGHUP, lambda *_: self._ask_to_reload())
        for number in STRAY:  # a handler, for what is ignored would be ignored in all that is started here too
            signal.signal(number, lambda *_: None)
        self._serve(told)

    def start(self) -> Ready:
        """Serve in a thread of this process."""
        up = threading.Event()
        self.failure = None

        def work() -> None:
            try:
                self._serve(lambda _: up.set())
            except BaseException as error:
                self.failure = error
                up.set()

        self._thread = threading.Thread(target=work, name="server", daemon=True)
        self._thread.start()
        up.wait()
        if self.failure is not None:
            raise self.failure
        assert self.ready is not None, "it is up"
        return self.ready

    def stop(self) -> None:
        """The end of `start`. Workloads go on."""
        self._ask_to_stop()
        if self._thread is not None:
            self._thread.join(timeout=30)

    def _ask_to_stop(self) -> None:
        self._stopped.set()
        if self._uvicorn is not None and self._wake is not None:
            self._uvicorn.should_exit = True
            self._wake()

    def _ask_to_reload(self) -> None:
        self._reloads.set()
        if self._wake is not None:
            self._wake()

    def _tls(self) -> ssl.SSLContext | None:
        """What it needs to speak https, if it shall."""
        cert, key = self.config.tls_cert, self.config.tls_key
        if cert is None:
            return None
        try:
            return tls_context(str(cert), None if key is None else str(key))
        except OSError as error:
            if isinstance(error, ssl.SSLError):
                why = error.reason or "one of the two is not in them in PEM"
            else:
                why = (error.strerror or str(error)).lower()
            files = str(cert) if key is None else f"{cert} and {key}"
            raise CedeError(f"{files}: no certificate and key that TLS can use: {why}") from None

    def _serve(self, told: Callable[[Ready], None]) -> None:
        check_exposure(self.config)
        self._tls()
        directory = DataDirectory.take(self.config.data or data_directory())
        try:
            store = Store.open(f"sqlite:///{directory.path / 'cede.db'}")
            try:
                self._with_store(directory, store, told)
            finally:
                store.close()
        finally:
            directory.leave()

    def _with_store(self, directory: DataDirectory, store: Store, told: Callable[[Ready], None]) -> None:
        saved = store.load_clock()
        clock = SchedulerClock(self._machine, saved.mark, saved.shifts, saved.last)
        document = self._document(store)
        store.compare(clock.wall_now())
        listener = _listener(self.config)
        first = first_token(store, os.environ, clock.wall_now())
        secret = load_secret(directory.path)
        metrics = Metrics(__version__)

        made = threading.Event()

        def report(fact: Fact) -> Future[None]:
            made.wait()  # an application may call before the controller is there to hear of it
            stored = controller.report(fact)
            if isinstance(fact, Exited):
                broker.forget(fact.name, fact.attempt)
            return stored

        broker = Broker(report, secret, partial(_owners_of_jobs, store), LocalAttemptFiles(directory.path))
        address = broker.open(directory.path, shared=os.geteuid() == 0)
        executor = LocalExecutor(
            directory.path,
            nodes=node_facts(_gpus(document)),
            broker_address=address,
            broker_hint=broker.hint,
            broker_token=broker.token,
            broker_ended=broker.ended,
            stamp=lambda: store.stamp,
            when=clock.when,
        )
        controller = self.controller = Controller(
            store,
            executor,
            document,
            clock=clock,
            metrics=metrics,
            assumed_age=self.config.assumed_checkpoint_age,
            options=driver_options(self.config),
            granted=lambda name, attempt, hint, us: broker.granted(name, attempt, hint, us / 1e6),
            reporting=report,
            compare_s=self.config.compare_every / 1e6,
        )
        made.set()
        try:
            controller.start()
            clamped = _clamp(controller, store, self.config)
            dumps, why_not = criu.works()
            gpus = bool(gpu_ids())
            undumped = () if dumps else (f"processes cannot be dumped here: {why_not}",)
            lacking = (*_lacking_gpus(document, gpus), *undumped, *controller.warnings, *clamped)
            server = Server(
                controller, store, executor, self.config, metrics, clock, criu=dumps, gpus=gpus, notices=lacking
            )
            notices = (*executor.notices(), *lacking)
            local = _local_token(store, directory.path, clock.wall_now())
            host, port = listener.getsockname()[:2]
            scheme = "http" if self.config.tls_cert is None else "https"
            url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
            server.wrong_tokens.right(LOOPBACK, hash_of(local))
            self.ready = Ready(url, directory.path, first, local, notices, controller.adopted)
            asyncio.run(self._serve_http(server, listener, directory, told))
            if self._dead:
                raise CedeError(self._dead)
        finally:
            controller.stop()
            executor.close()
            broker.close()
            listener.close()

    async def _serve_http(
        self, server: Server, listener: socket.socket, directory: DataDirectory, told: Callable[[Ready], None]
    ) -> None:
        app = create_app(server)
        woken, loop = asyncio.Event(), asyncio.get_running_loop()
        self._wake = lambda: loop.call_soon_threadsafe(woken.set)
        if self._reloads.is_set() or self._stopped.is_set():  # it came while nobody could be woken
            woken.set()
        tls = self._tls()
        limits = ConnectionLimits(connection_limit(self.config.connections))
        config = uvicorn.Config(
            app,
            # Typed as a class; whatever makes a protocol will do.
            http=cast(type[asyncio.Protocol], partial(HttpConnection, limits, tls)),
            log_config=None,
            log_level="error",  # it warns of every request that is none, and so strangers could fill the disk
            access_log=False,
            lifespan="off",
            timeout_keep_alive=KEPT_FOR_S,
            timeout_graceful_shutdown=5,
            h11_max_incomplete_event_size=MOST_HEAD,
            server_header=False,
        )
        self._uvicorn = _Uvicorn(config)
        serving = asyncio.create_task(self._uvicorn.serve(sockets=[listener]))
        while not self._uvicorn.started and not serving.done():
            await asyncio.sleep(0.005)
        if self._stopped.is_set():
            self._uvicorn.should_exit = True
        elif self._uvicorn.started:
            assert self.ready is not None, "it is up"
            certificate = None if self.config.tls_cert is None else str(self.config.tls_cert.absolute())
            directory.announce(Note(self.ready.url, self.ready.local_token, os.getpid(), certificate))
            told(self.ready)
        keeping = asyncio.create_task(self._housekeeping(server))
        watching = asyncio.create_task(self._watch(server))
        closing = asyncio.create_task(self._handle_signals(app, server, woken))
        await serving
        for task in (keeping, closing, watching):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _handle_signals(self, app: FastAPI, server: Server, woken: asyncio.Event) -> None:
        """Reload or stop when a signal asks for it. Readers of endless streams must not keep a server from stopping."""
        while not self._stopped.is_set():
            await woken.wait()
            woken.clear()
            if self._reloads.is_set():
                self._reloads.clear()
                await asyncio.to_thread(self._reload, server)
        close_app(app)

    def _reload(self, server: Server) -> None:
        """What can change of the configuration has changed; or, if it cannot be used, nothing has."""
        if self._reread is None:
            log.warning("SIGHUP: there is no configuration file to read again (--config)")
            return
        audit = AuditRequest(0, _user(), "admin", "reload", "configuration", "SIGHUP")
        try:
            fresh = self._reread()
            check_tenants(server.controller.cluster_file, fresh.users)
            check_limits(server.controller.cluster_file, fresh)
        except (CedeError, OSError) as error:
            log.error("SIGHUP: the configuration stays as it was, for it cannot be used: %s", error)
            server.note(replace(audit, allowed=False, rule=INVALID.id))
            return
        server.config, now, later = reloaded(server.config, fresh)
        told = f"{', '.join(now)} changed" if now else "nothing changed"
        told += f"; {', '.join(later)} will at the next start" if later else ""
        log.warning("SIGHUP: the configuration was read again: %s", told)
        if self.controller is not None:
            _clamp(self.controller, server.store, server.config)
        server.note(replace(audit, detail=f"SIGHUP: {told}"))

    async def _watch(self, server: Server) -> None:
        """A server whose scheduler has ended ends too."""
        while not server.controller.dead:
            await asyncio.sleep(WATCH_S)
        self._dead = server.controller.dead
        self._ask_to_stop()

    async def _housekeeping(self, server: Server) -> None:
        """What the configuration no longer wants to be kept goes, and the audit trail says so."""
        while True:
            kept = server.config.retention
            if all(time is None for time in (kept.ended, kept.events, kept.inputs)):
                await asyncio.sleep(HOUSEKEEPING_S)
                continue
            now = server.clock.now()
            pruned = await asyncio.to_thread(
                server.store.prune,
                ended_before=None if kept.ended is None else now - kept.ended,
                events_before=None if kept.events is None else now - kept.events,
                inputs_before=None if kept.inputs is None else now - kept.inputs,
                now=server.clock.wall_now(),
            )
            for name in pruned.workloads:
                await asyncio.to_thread(server.executor.forget, name)
            await asyncio.sleep(HOUSEKEEPING_S)

    def _document(self, store: Store) -> ClusterFile:
        """The cluster file that was given, else the one of last time, else this machine."""
        saved = store.load()
        document = self._given
        if document is None:
            document = saved.document or machine_document(self._nodes)
        document = undated(document)
        doctrine_of(document.doctrine)
        check_no_workloads(document)
        check_tenants(document, self.config.users)
        check_limits(document, self.config)
        check_under_way(document, saved.jobs)
        store.configure(document)
        return document


def _clamp(controller: Controller, store: Store, config: ServerConfig) -> tuple[str, ...]:
    """Workloads of the store that have more time than the limits allow have no more than that; which, in sentences."""
    changes = list(exceeding(config, controller.cluster_file, store.load().jobs))
    for fact in changes:
        controller.report(fact)
    changes = [fact for fact in changes if fact.why]
    for fact in changes:
        log.warning("%s goes on with less than it was submitted with: %s", fact.name, fact.why)
    told = tuple(f"{fact.name} was submitted with more than the limits allow: {fact.why}" for fact in changes[:_SHOWN])
    return (*told, f"and so were {len(changes) - _SHOWN} others") if len(changes) > _SHOWN else told


def check_no_workloads(document: ClusterFile) -> None:
    """An InputError if this cluster has workloads; those of a server are submitted."""
    if document.workloads:
        message = f"{len(document.workloads)} given; a cluster file that is served has none"
        raise InputError([Problem("workloads", message, "submit them")])


def check_exposure(config: ServerConfig) -> None:
    """An InputError if others than this machine could reach the server, and everything could be read on the way."""
    if config.tls_key is not None and config.tls_cert is None:
        raise InputError([Problem("tls_key", "there is a key, but no certificate", "give tls_cert too")])
    if config.tls_cert is not None or config.insecure or is_loopback(config.host):
        return
    message = f"{shown(config.host)} is reached from other machines, and without TLS all tokens can be read on the way"
    hint = "give a certificate with --tls-cert and --tls-key, or say --insecure"
    raise InputError([Problem("host", message, hint)])


def is_loopback(host: str) -> bool:
    return host == "localhost" or address_of(host) == LOOPBACK


class _Uvicorn(uvicorn.Server):
    """Leaves signals to the process that runs it."""

    def install_signal_handlers(self) -> None:
        return


def _share_memory() -> None:
    """All threads allocate from one part of the memory beside the main one. glibc gives each its own, up to eight for a
    core, and what is free in one serves no other: that was most of what a server grew by after many jobs. Only one
    thread at a time runs Python, so that they hardly wait for each other."""
    with suppress(OSError, AttributeError):  # another libc has no such thing
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


def _listener(config: ServerConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    # With its protocol named, or asyncio does not know it for TCP and lets small answers wait for 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((config.host, config.port))
    except OSError as error:
        made.close()
        why = (error.strerror or str(error)).lower()
        raise CedeError(
            f"cannot listen at {config.host} port {config.port}: {why} (--port 0 takes a free one)"
        ) from None
    return made


def _owners_of_jobs(store: Store) -> set[int]:
    """The ids of the accounts whose jobs are under way."""
    uids: set[int] = set()
    for account in store.accounts(PRESENT):
        with suppress(KeyError):  # one that this machine no longer has
            uids.add(pwd.getpwnam(account).pw_uid)
    return uids


def _gpus(document: ClusterFile) -> dict[str, int]:
    """How many GPUs each node says it has."""
    return {node.name: sum(n // NANO for name, n in node.capacity.items() if is_gpu(name)) for node in document.nodes}


def _lacking_gpus(document: ClusterFile, gpus: bool) -> tuple[str, ...]:
    said = sum(_gpus(document).values())
    if gpus or not said:
        return ()
    return (
        f"the nodes say that they have {said} GPUs, and none was found on this machine: jobs get numbers, no devices",
    )


def _local_token(store: Store, data: Path, now: int) -> str:
    """The token by which this account's own commands are known; made once, and anew if it was revoked."""
    path = data / "local.token"
    with suppress(OSError):
        saved = path.read_text().strip()
        known = store.token(hash_of(saved)) if saved else None
        if known is not None and not known.revoked:
            return saved
    token = new_token()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(token)
    store.add_token(hash_of(token), _user(), "admin", (), now)
    return token


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
