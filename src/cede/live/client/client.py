"""`cede.Client`: everything a running server can be asked, from Python."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, cast

from cede.live import documents
from cede.live.client.discovery import find, trusted
from cede.live.client.errors import ClientError
from cede.live.client.transport import Transport, given, quoted
from cede.model.lifecycle import FINAL

PAGE = 1000
LOG_PAGE = 2**20
LOG_WAIT_S = 20
GONE_S = 30.0
"""How long a server may be away while somebody waits for a workload."""


class Piece(NamedTuple):
    """Bytes of one stream, with a time by which those of all members can be put in order."""

    at: int
    stream: str
    data: bytes


class LogPage(NamedTuple):
    """Bytes as they came, the offset to go on from, and whether nothing more will come."""

    data: bytes
    next: int
    ended: bool


class Client:
    """A running server. Without arguments: the one of $CEDE_URL and $CEDE_TOKEN, else that of the data directory.

    Answers are the API's documents as plain dicts. A refusal is a ClientError, which names the rule.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        *,
        data: str | Path | None = None,
        ca: str | Path | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        """`ca` is a PEM file with the certificates to trust in place of the system's; else $CEDE_CA."""
        self._transport = Transport(*find(url, token, data), timeout_s, trusted(url, data, ca))

    @property
    def url(self) -> str:
        return self._transport.url

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._transport.close()

    # -- workloads ---------------------------------------------------------------------------------------------

    def submit(
        self,
        command: Sequence[str],
        *,
        cwd: str | Path | None = None,
        name: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        project: str | None = None,
        cpu: float | str | None = None,
        memory: int | str | None = None,
        gpu: float | str | None = None,
        requests: Mapping[str, float | str] | None = None,
        members: int | None = None,
        walltime: float | str | None = None,
        checkpoint: str | Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        **more: Any,
    ) -> documents.Workload:
        """Submit a command; it is durable when this returns. `more` are the other keys of a submission.

        `cwd` is this process's own by default. `checkpoint` is a mode, or an object with mode and protocol.
        """
        amounts = dict(requests or {}) | given({"cpu": cpu, "memory": memory, "gpu": gpu})
        body = {
            "command": list(command),
            "cwd": str(Path.cwd() if cwd is None else cwd),
            "name": name,
            "queue": queue,
            "priority": priority,
            "project": project,
            "requests": amounts or None,
            "members": members,
            "walltime": walltime,
            "checkpoint": {"mode": checkpoint} if isinstance(checkpoint, str) else checkpoint,
            "env": None if env is None else dict(env),
            **more,
        }
        return cast(documents.Workload, self._transport.send("POST", "/workloads", body))

    def jobs(
        self,
        *,
        state: Collection[str] = (),
        queue: str | None = None,
        user: Collection[str] = (),
        project: Collection[str] = (),
        order: Literal["newest", "oldest"] = "newest",
        limit: int | None = None,
    ) -> list[documents.Workload]:
        """The workloads that match, all of them or the first `limit`."""
        wanted = {"state": list(state), "queue": queue, "user": list(user), "project": list(project), "order": order}
        jobs: list[documents.Workload] = []
        after: str | None = None
        while limit is None or len(jobs) < limit:
            most = PAGE if limit is None else min(PAGE, limit - len(jobs))
            page = self._transport.get("/workloads", **wanted, after=after, limit=most)
            jobs += page["workloads"]
            after = page["next"]
            if after is None:
                break
        return jobs

    def job(self, name: str) -> documents.Workload:
        return cast(documents.Workload, self._transport.get(f"/workloads/{quoted(name)}"))

    def cancel(self, name: str, *, now: bool = False) -> documents.Workload:
        """`now` kills it at once, without any grace."""
        return self._change(name, "cancel", {"now": True} if now else None)

    def suspend(self, name: str, *, force: bool = False, now: bool = False) -> documents.Workload:
        """`force` gives up work that no checkpoint would save; `now` kills it at once, whatever that loses."""
        how = {word: True for word, said in (("force", force), ("now", now)) if said}
        return self._change(name, "suspend", how or None)

    def resume(self, name: str) -> documents.Workload:
        return self._change(name, "resume")

    def checkpoint(self, name: str) -> documents.Workload:
        """Ask for a checkpoint; the workload goes on."""
        return self._change(name, "checkpoint")

    def _change(self, name: str, what: str, body: Mapping[str, Any] | None = None) -> documents.Workload:
        return cast(documents.Workload, self._transport.send("POST", f"/workloads/{quoted(name)}/{what}", body))

    def wait(
        self, name: str, timeout: float | None = None, *, states: Collection[str] = tuple(map(str, FINAL))
    ) -> documents.Workload:
        """The workload once it is in one of these states, by default ended; TimeoutError if that takes too long."""
        ends = math.inf if timeout is None else time.monotonic() + timeout
        given_up = time.monotonic() + GONE_S
        while True:
            try:
                # Listening first, looking then: so nothing can happen unseen in between.
                with self._transport.events(None, name, patience_s=max(0.05, ends - time.monotonic())) as events:
                    job = self.job(name)
                    while job["state"] not in states and next(events, None) is not None:
                        job = self.job(name)
                if job["state"] in states:
                    return job
                given_up = time.monotonic() + GONE_S
            except ClientError as error:
                # A server may be starting again; one that answers knows what it says.
                if error.status or time.monotonic() > given_up:
                    raise
                time.sleep(0.1)
            if time.monotonic() >= ends:
                raise TimeoutError(f"{name} is not {' or '.join(sorted(states))} after {timeout:g} s")

    def logs(
        self,
        name: str,
        *,
        attempt: int | None = None,
        member: int = 0,
        stream: Literal["out", "err", "both"] = "out",
        offset: int = 0,
        follow: bool = False,
    ) -> Iterator[bytes]:
        """What a member wrote, as it was written; with `follow` until its attempt has ended."""
        wanted = {"attempt": attempt, "member": member, "stream": stream}
        for page in self._log_pages(name, wanted, offset, LOG_PAGE, follow):
            if page.data:
                yield page.data

    def output(
        self,
        name: str,
        *,
        attempt: int | None = None,
        member: int = 0,
        offset: int = 0,
        limit: int = LOG_PAGE,
        follow: bool = False,
    ) -> Iterator[Piece]:
        """What a member wrote to both streams, piece by piece in order; `limit` bytes are asked for at a time."""
        wanted = {"attempt": attempt, "member": member, "stream": "both", "framed": True}
        for page in self._log_pages(name, wanted, offset, limit, follow):
            yield from pieces_of(page.data)

    def output_page(self, name: str, attempt: int, member: int, offset: int) -> tuple[list[Piece], int, bool]:
        """What there is behind this offset; the offset to go on from, and whether nothing more will come."""
        page = self._log_page(
            name, {"attempt": attempt, "member": member, "stream": "both", "framed": True}, offset, LOG_PAGE, None
        )
        return list(pieces_of(page.data)), page.next, page.ended

    def _log_pages(
        self, name: str, wanted: Mapping[str, Any], offset: int, limit: int, follow: bool
    ) -> Iterator[LogPage]:
        while True:
            page = self._log_page(name, wanted, offset, limit, LOG_WAIT_S if follow else None)
            yield page
            offset = page.next
            if not page.data and (page.ended or not follow):
                return

    def _log_page(self, name: str, wanted: Mapping[str, Any], offset: int, limit: int, wait_s: float | None) -> LogPage:
        path = f"/workloads/{quoted(name)}/logs"
        page = self._transport.page(path, **wanted, offset=offset, limit=limit, wait=wait_s)
        ended = page.headers["Cede-Log-Ended"] == "true"
        return LogPage(page.content, int(page.headers["Cede-Log-Next"]), ended)

    def why(self, name: str) -> documents.Story:
        """Its whole story, and what stands in its way."""
        return cast(documents.Story, self._transport.get(f"/workloads/{quoted(name)}/why"))

    # -- the cluster -------------------------------------------------------------------------------------------

    def queues(self) -> list[documents.Queue]:
        return cast(list[documents.Queue], self._transport.get("/queues")["queues"])

    def nodes(self) -> list[documents.Node]:
        return cast(list[documents.Node], self._transport.get("/nodes")["nodes"])

    def drain(self, node: str, *, evict: bool = False) -> documents.Node:
        """Nothing new starts there; with `evict` what runs there is sent away."""
        path = f"/nodes/{quoted(node)}/drain"
        return cast(documents.Node, self._transport.send("POST", path, {"evict": True} if evict else None))

    def undrain(self, node: str) -> documents.Node:
        return cast(documents.Node, self._transport.send("POST", f"/nodes/{quoted(node)}/undrain"))

    def snapshot(self) -> dict[str, Any]:
        """The live state as a cluster file, for `cede.load`."""
        return cast(dict[str, Any], self._transport.get("/snapshot"))

    # -- questions ---------------------------------------------------------------------------------------------

    def plan(
        self,
        *,
        doctrine: str | None = None,
        set: Sequence[str] = (),
        add: Sequence[Mapping[str, Any]] = (),
        without: Sequence[str] = (),
        only: str | None = None,
        explain: bool = False,
        shares: bool = False,
        certify: float | None = None,
    ) -> dict[str, Any]:
        """What would be decided now, with these changes if there are any.

        With `certify`, so many seconds are used to prove how near the victims are to the best.
        """
        body = _changes(doctrine, set, add, without) | {"only": only, "explain": explain, "shares": shares}
        return cast(dict[str, Any], self._transport.send("POST", f"/plan{_certifying(certify)}", body))

    def diff(
        self,
        *,
        doctrine: str | None = None,
        set: Sequence[str] = (),
        add: Sequence[Mapping[str, Any]] = (),
        without: Sequence[str] = (),
        certify: float | None = None,
    ) -> dict[str, Any]:
        """What these changes would change in the plan."""
        path = f"/diff{_certifying(certify)}"
        return cast(dict[str, Any], self._transport.send("POST", path, _changes(doctrine, set, add, without)))

    # -- history -----------------------------------------------------------------------------------------------

    def events(
        self, *, after: int | None = None, workload: str | None = None, follow: bool = False
    ) -> Iterator[documents.Event]:
        """What happened behind event `after`; with `follow` what happens, without end."""
        if follow:
            yield from self._followed(after, workload)
            return
        while True:
            page = self._transport.get("/events", after=after, workload=workload, limit=PAGE, follow=False)
            yield from page["events"]
            after = page["next"]
            if after is None:
                return

    def _followed(self, after: int | None, workload: str | None) -> Iterator[documents.Event]:
        """A stream that ends is taken up again behind the last event that came."""
        given_up = time.monotonic() + GONE_S
        while True:
            try:
                with self._transport.events(after, workload) as events:
                    for event in events:
                        after = event["number"]
                        yield cast(documents.Event, event)
                given_up = time.monotonic() + GONE_S
            except ClientError as error:
                if error.status or after is None or time.monotonic() > given_up:
                    raise
            time.sleep(0.1)

    def decisions(self, *, after: int = 0, workload: str | None = None) -> Iterator[documents.Decision]:
        """The decisions behind number `after`, oldest first."""
        following: int | None = after
        while following is not None:
            page = self._transport.get("/decisions", after=following, workload=workload, limit=PAGE)
            yield from page["decisions"]
            following = page["next"]

    def decision(self, number: int, *, certify: float | None = None) -> documents.Decision:
        """One decision; with `certify`, that many seconds are used to prove how near its victims are to the best."""
        return cast(documents.Decision, self._transport.get(f"/decisions/{number}", certify=certify))

    def decision_cluster(self, number: int) -> dict[str, Any]:
        """The cluster file that the decision was made from, for admins."""
        return cast(dict[str, Any], self._transport.get(f"/decisions/{number}/cluster"))

    def audit(
        self, *, after: int = 0, by: str | None = None, about: str | None = None
    ) -> Iterator[documents.AuditEntry]:
        """Who asked for what, oldest first."""
        following: int | None = after
        while following is not None:
            page = self._transport.get("/audit", after=following, by=by, about=about, limit=PAGE)
            yield from page["entries"]
            following = page["next"]

    def audit_chain(self) -> documents.AuditChain:
        """Whether the audit trail is as it was written, however long it takes to walk all of it."""
        return cast(documents.AuditChain, self._transport.get_at_leisure("/audit/chain"))

    # -- the server --------------------------------------------------------------------------------------------

    def health(self) -> documents.Health:
        return cast(documents.Health, self._transport.get("/health"))

    def orphans(self) -> documents.OrphanList:
        """What runs, or ran, without a record, and what the store has lost."""
        return cast(documents.OrphanList, self._transport.get("/orphans"))

    def end_orphan(self, name: str) -> documents.OrphanList:
        """All processes of work without a record are killed."""
        return cast(documents.OrphanList, self._transport.send("POST", f"/orphans/{quoted(name)}/end"))

    def forget_orphan(self, name: str) -> documents.OrphanList:
        """The files of work without a record are deleted."""
        return cast(documents.OrphanList, self._transport.send("DELETE", f"/orphans/{quoted(name)}"))

    def acknowledge_loss(self) -> documents.OrphanList:
        """Health tells no more of what the store has lost."""
        return cast(documents.OrphanList, self._transport.send("POST", "/store/acknowledge"))

    def server(self) -> documents.Server:
        """What the server is, and whom it takes this client for."""
        return cast(documents.Server, self._transport.get("/server"))

    def metrics(self) -> str:
        """Its measurements in Prometheus' text format."""
        return self._transport.page("/metrics").text

    def tokens(self) -> list[documents.Token]:
        return cast(list[documents.Token], self._transport.get("/tokens")["tokens"])

    def make_token(
        self,
        user: str,
        *,
        role: str | None = None,
        projects: Sequence[str] = (),
        expires_in: float | str | None = None,
    ) -> documents.Token:
        """A new token, shown this once; `expires_in` is how long it stands, by default what the server says."""
        body = {"user": user, "role": role, "projects": list(projects), "expires_in": expires_in}
        return cast(documents.Token, self._transport.send("POST", "/tokens", body))

    def renew_token(self, number: int, *, expires_in: float | str | None = None) -> documents.Token:
        """Let a token stand for so long from now on; an admin any, everybody its own."""
        body = given({"expires_in": expires_in})
        return cast(documents.Token, self._transport.send("POST", f"/tokens/{number}/renew", body))

    def revoke_token(self, number: int) -> documents.Token:
        return cast(documents.Token, self._transport.send("DELETE", f"/tokens/{number}"))


def pieces_of(framed: bytes) -> Iterator[Piece]:
    """The pieces of a page that was asked for with frames."""
    at = 0
    while at < len(framed):
        end = framed.index(b"\n", at)
        stream, moment, size = framed[at:end].split()
        at = end + 1 + int(size)
        yield Piece(int(moment), stream.decode(), framed[end + 1 : at])


def _certifying(seconds: float | None) -> str:
    """The query that asks for certificates, if they are wanted."""
    return "" if seconds is None else f"?certify={seconds!r}"


def _changes(
    doctrine: str | None, set_: Sequence[str], add: Sequence[Mapping[str, Any]], without: Sequence[str]
) -> dict[str, Any]:
    return {"doctrine": doctrine, "set": list(set_), "add": [dict(one) for one in add], "without": list(without)}
