"""The stream of jobs: submitted, cancelled, suspended and resumed by lot, whether the server is there or not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from cede.cli.bench.crash.contention import CONTENTIONS, NODES, Contention
from cede.cli.bench.crash.job_specs import JobSpec, draw_spec
from cede.live.client import Client, ClientError
from cede.live.documents import Workload

UNDER_WAY = ("pending", "held", "starting", "running", "checkpointing", "preempting", "suspended", "cancelling")
PACE_S = 0.04
TIMEOUT_S = 20.0


@dataclass(slots=True)
class Ledger:
    """What was asked for, and what the server said to it, as whoever asked knows it."""

    tried: dict[str, JobSpec] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    """Submissions that the server acknowledged, the first time or when asked again."""
    lost: set[str] = field(default_factory=set)
    """Submissions whose answer never came, and that nobody asked about again."""
    cancelled: set[str] = field(default_factory=set)
    """Those that somebody tried to cancel."""
    unanswered: int = 0
    """Requests that a kill left without an answer, or that a server refused because it could store nothing."""
    missing: set[str] = field(default_factory=set)
    """Of a store that was set back: submissions that it knows nothing of."""
    stale: dict[str, int] = field(default_factory=dict)
    """Of a store that was set back: submissions of which it knows less than happened, and when the next server began
    to work with it, in nanoseconds of the machine's monotonic clock."""
    there: int = 0
    """Submissions whose answer was lost although they had been taken in."""
    faults: list[str] = field(default_factory=list)
    """Answers that no server should give."""


class Stream:
    """One thread, and one client for all the servers, which listen at the same place one after the other."""

    def __init__(
        self,
        seed: int,
        command: Callable[[JobSpec], list[str]],
        data: Path,
        contention: Contention = CONTENTIONS["backendai"],
    ) -> None:
        self.ledger = Ledger()
        self._contention = contention
        self._turning = threading.Lock()
        self._draw = Random(f"stream {seed}")
        self._command = command
        self._data = data
        self._again: list[JobSpec] = []
        self._drained: list[str] = []
        self._stopping = threading.Event()
        self._given_up = threading.Event()
        self._served = threading.Event()
        self._client: Client | None = None
        self._seen: list[Workload] = []
        self._seen_at = 0.0
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def serve(self, *, there: bool) -> None:
        """A new server answers, or none does."""
        if there:
            self._served.set()
        else:
            self._served.clear()

    def pause(self) -> None:
        """Nobody asks the server for anything, and whatever was asked has its answer."""
        self._served.clear()
        with self._turning:
            pass

    def forget(self, missing: Collection[str], stale: Iterable[str], since: int) -> None:
        """The store was set back while nobody asked: nobody asks again about what never had an answer."""
        self.ledger.missing.update(missing)
        self.ledger.stale.update(dict.fromkeys(stale, since))
        self.ledger.lost.update(spec.name for spec in self._again)
        self._again.clear()
        self._seen, self._seen_at = [], 0.0

    def stop(self, patience_s: float) -> None:
        """Nothing new is submitted; what was left open has been asked about again, or the server never answered."""
        self._stopping.set()
        self._thread.join(patience_s)
        self._given_up.set()
        self._thread.join()
        self.ledger.faults += [f"{spec.name} was asked about in vain for {patience_s:g} s" for spec in self._again]
        if self._client is not None:
            self._client.close()

    def _run(self) -> None:
        while not self._stopping.is_set() or (self._again and not self._given_up.is_set()):
            if not self._served.wait(0.1):
                continue
            try:
                with self._turning:
                    if self._served.is_set():
                        self._turn(self._reached())
            except ClientError as error:
                if error.status not in (0, 503):
                    self.ledger.faults.append(f"the server answered {error.status}: {error}")
                time.sleep(PACE_S / 4)
            except Exception as error:
                self.ledger.faults.append(f"the stream broke off: {error!r}")
                return

    def _reached(self) -> Client:
        if self._client is None:
            self._client = Client(data=self._data, timeout_s=TIMEOUT_S)
        return self._client

    def _turn(self, client: Client) -> None:
        if self._again:
            self._submit(client, self._again.pop(0), again=True)
            return
        if time.monotonic() - self._seen_at > 0.2:
            self._seen, self._seen_at = client.jobs(state=UNDER_WAY), time.monotonic()
        lot = self._draw.random()
        if self._drained and lot > 0.8:
            client.undrain(self._drained[0])
            self._drained.pop(0)
        if lot < 0.15 and self._seen:
            self._meddle(client, self._draw.choice(self._seen), lot / 0.15)
        elif len(self._seen) < self._contention.most_under_way:
            spec = draw_spec(self._draw, len(self.ledger.tried), self._contention)
            self._submit(client, spec, again=False)
        self._stopping.wait(self._draw.uniform(0, 2 * PACE_S))

    def _submit(self, client: Client, spec: JobSpec, *, again: bool) -> None:
        ledger = self.ledger
        ledger.tried[spec.name] = spec
        try:
            client.submit(self._command(spec), name=spec.name, cwd="/", **spec.asks)
        except ClientError as error:
            if again and error.status == 409:
                ledger.there += 1
                ledger.taken.add(spec.name)
            elif error.status not in (0, 503):
                ledger.faults.append(f"{spec.name} was refused with {error.status}: {error}")
            else:
                ledger.unanswered += 1
                # Now and then nobody asks again: then it is there once, or not at all.
                if again or self._draw.random() < 0.8:
                    self._again.append(spec)
                else:
                    ledger.lost.add(spec.name)
                raise
        else:
            ledger.taken.add(spec.name)

    def _meddle(self, client: Client, job: Workload, lot: float) -> None:
        """Somebody changes their mind about a job; what can no longer be is refused, and that is fine."""
        name, node = job["name"], f"n-{self._draw.randrange(NODES)}"
        try:
            if job["parked"] or lot < 0.1:
                client.resume(name)
            elif lot < 0.4:
                self.ledger.cancelled.add(name)
                client.cancel(name)
            elif lot < 0.7:
                client.suspend(name, force=lot < 0.5)
            elif lot < 0.85:
                client.checkpoint(name)
            else:
                self._drained.append(node)
                client.drain(node, evict=lot < 0.95)
        except ClientError as error:
            if error.status not in (404, 409):
                self.ledger.unanswered += error.status == 0
                raise


def drain(client: Client, patience_s: float, tell: Callable[[int], object]) -> list[Workload]:
    """Waits until every job has ended; those that did not, if for so long nothing moved at all."""
    last, since = (-1, -1), time.monotonic()
    for number in range(NODES):
        client.undrain(f"n-{number}")
    while left := client.jobs(state=UNDER_WAY):
        for job in left:
            if job["parked"]:
                with suppress(ClientError):
                    client.resume(job["name"])
        now = sum(job["version"] for job in left)
        if (len(left), now) != last:
            last, since = (len(left), now), time.monotonic()
        elif time.monotonic() - since > patience_s:
            return left
        tell(len(left))
        time.sleep(0.1)
    return []
