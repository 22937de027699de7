"""One run of the crash test, from an empty data directory to its figures."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Any

from cede.cli.bench.crash import job, job_logs
from cede.cli.bench.crash.audit import Findings, Records, audit
from cede.cli.bench.crash.contention import CONTENTIONS
from cede.cli.bench.crash.disks import Disks
from cede.cli.bench.crash.faults import OF_DISKS
from cede.cli.bench.crash.killing import Killer, KillRecord
from cede.cli.bench.crash.serving import ForkServer, Servers, end_remains, remains
from cede.cli.bench.crash.stream import Ledger, Stream, drain
from cede.live.client import Client
from cede.live.documents import Event, Workload
from cede.live.executors.local.guard import files

STUCK_S = 45.0
"""So long nothing may move before what has not ended counts as lost."""
OTHER_PYTHON = "/usr/bin/python3"
KINDS = ("lost", "doubled", "stuck", "other")
Tell = Callable[[str, int], object]
"""Told what is being done, and how many kills and faults are done."""


@dataclass(frozen=True, slots=True)
class Share:
    """What one doctrine has to go through."""

    doctrine: str
    seed: int
    kills: int
    faults: Mapping[str, int]

    @property
    def total(self) -> int:
        return self.kills + sum(self.faults.values())


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for: plain kills, and faults by kind, spread over the doctrines."""

    kills: int
    seed: int
    doctrines: Sequence[str] = ("backendai",)
    faults: Sequence[str] = ()
    times: int = 0

    @property
    def total(self) -> int:
        return self.kills + self.times * len(self.faults)

    def shares(self) -> list[Share]:
        """For each doctrine its part of all, which differ by one at most."""
        return [
            Share(
                doctrine,
                self.seed,
                self._part(self.kills, n),
                {kind: self._part(self.times, n) for kind in self.faults},
            )
            for n, doctrine in enumerate(self.doctrines)
        ]

    def _part(self, total: int, number: int) -> int:
        whole, rest = divmod(total, len(self.doctrines))
        return whole + (number < rest)


def measured(plan: Plan, *, keep: bool, tell: Tell) -> dict[str, Any]:
    """Everything that `bench crash` reports, as plain data: totals, and one run for each doctrine."""
    began = time.monotonic()
    tell("loading the server", 0)
    fork_server = ForkServer()
    runs, done = dict[str, dict[str, Any]](), 0
    try:
        for share in plan.shares():
            runs[share.doctrine] = _measured(fork_server, share, keep=keep, tell=_after(done, share.doctrine, tell))
            done += share.total
    finally:
        fork_server.close()
    return {
        "kills": plan.kills,
        "seed": plan.seed,
        "seconds": time.monotonic() - began,
        "faults": _total(run["faults"] for run in runs.values()),
        "skipped": {kind: why for run in runs.values() for kind, why in run["skipped"].items()},
        "wrong": {kind: sum(run["wrong"][kind] for run in runs.values()) for kind in KINDS},
        "runs": runs,
        "violations": [f"{doctrine}: {one}" for doctrine, run in runs.items() for one in run["violations"]],
        "folders": [run["folder"] for run in runs.values() if run["folder"]],
    }


def _after(done: int, doctrine: str, tell: Tell) -> Tell:
    return lambda what, count: tell(f"{doctrine}: {what}", done + count)


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(total)


def _measured(fork_server: ForkServer, share: Share, *, keep: bool, tell: Tell) -> dict[str, Any]:
    """One run. Its folder stays if asked for, or if something is wrong."""
    folder = Path(mkdtemp(prefix=f"cede-crash-{share.doctrine}-"))
    # Jobs under another account must reach their own folders in it.
    folder.chmod(0o711)
    disks = Disks(folder, mounted=not set(OF_DISKS).isdisjoint(share.faults))
    stays = True
    try:
        report = _run(fork_server, folder, disks, share, tell)
        stays = keep or bool(report["violations"])
    except KeyboardInterrupt:
        stays = keep
        raise
    finally:
        end_remains(disks.data)
        if stays:
            disks.keep()
        disks.close()
        if not stays:
            shutil.rmtree(folder)
    return report | {"folder": str(folder) if stays else None}


def _run(fork_server: ForkServer, folder: Path, disks: Disks, share: Share, tell: Tell) -> dict[str, Any]:
    began = time.monotonic()
    account, python = worker()
    notes = folder / "evidence"
    notes.mkdir()
    notes.chmod(0o1777)
    contention = CONTENTIONS[share.doctrine]
    servers = Servers(fork_server, folder, contention.cluster, account, disks.data)
    skipped = {kind: disks.why_not for kind in share.faults if kind in OF_DISKS and disks.why_not}
    faults = {kind: count for kind, count in share.faults.items() if kind not in skipped}
    total = share.kills + sum(faults.values())
    program = str(Path(job.__file__))
    stream = Stream(share.seed, lambda spec: spec.command(python, program, str(notes)), servers.data, contention)
    stream.start()
    killer = Killer(share.seed, servers, stream, disks, notes)
    killer.kill(share.kills, faults, lambda done: tell("killing", done))
    last = killer.last()
    stream.stop(STUCK_S)
    with Client(data=servers.data) as client:
        left = drain(client, STUCK_S, lambda count: tell(f"waiting for {count} jobs to end", total))
        records, problems = _records(client, servers.data), _nodes(client)
        unwell = [f"all is over, and health tells of: {problem}" for problem in client.health()["problems"]]
    last.stop()
    tell("auditing", total)
    findings = audit(stream.ledger, records, job_logs.read(notes), killer.record.supervisors, left)
    findings.note("stuck", [*problems, *_leftovers(servers.data)])
    findings.note("other", [*killer.record.wrong, *unwell, *_integrity(servers.data)])
    findings.note("other", _logged(servers, full="full" in faults))
    report = _report(killer.record, stream.ledger, records, findings)
    setting = {"seed": share.seed, "account": account, "seconds": time.monotonic() - began, "skipped": skipped}
    return {"kills": share.kills, **setting, **report, "violations": findings.violations}


def worker() -> tuple[str, str]:
    """The account that jobs run as, and an interpreter that it can use: nobody's rights, if that is possible at all."""
    own = getpass.getuser()
    if os.geteuid() != 0:
        return own, sys.executable
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return own, sys.executable
    rights: dict[str, Any] = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    for python in (sys.executable, OTHER_PYTHON):
        try:
            command = [python, "-I", "-S", str(Path(job.__file__)), "--check"]
            if subprocess.run(command, cwd="/", capture_output=True, check=False, **rights).returncode == 0:
                return nobody.pw_name, python
        except OSError:
            continue
    return own, sys.executable


def _records(client: Client, data: Path) -> Records:
    jobs: dict[str, Workload] = {job["name"]: job for job in client.jobs(order="oldest")}
    events: dict[str, list[Event]] = {}
    for event in client.events(after=0):
        events.setdefault(event["workload"], []).append(event)
    ends = data.glob("jobs/*/attempts/*/*/exit.json")
    told = {end.parent.parent for end in ends if (files.get(str(end.parent), end.name) or {}).get("told")}
    signalled = {(attempt.parent.parent.name, int(attempt.name)) for attempt in told}
    return Records(jobs, events, list(client.decisions()), signalled)


def _nodes(client: Client) -> list[str]:
    """Nodes on which room is still in use."""
    problems = []
    for node in client.nodes():
        for what in ("held", "leaving", "used", "occupied"):
            amounts = {name: size for name, size in node[what].items() if str(size) != "0"}
            if amounts or node["workloads"]:
                problems.append(f"{node['name']} has {amounts or node['workloads']} {what} though all is over")
    return problems


def _leftovers(data: Path) -> list[str]:
    problems = [f"process {left.pid} is left: {left.what}" for left in remains(data)]
    return problems + [f"the attempt {path.name} was never settled" for path in sorted((data / "active").iterdir())]


def _integrity(data: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{data / 'cede.db'}?mode=ro", uri=True)) as store:
        messages = [str(row[0]) for row in store.execute("PRAGMA integrity_check")]
        broken = store.execute("PRAGMA foreign_key_check").fetchall()
    problems = [f"the store is damaged: {one}" for one in messages if one != "ok"]
    return problems + [f"the store points nowhere: {one}" for one in broken]


def _logged(servers: Servers, *, full: bool) -> list[str]:
    """What servers and supervisors had to complain about; where disks were full, not that."""
    complaints = []
    for path in (servers.log, servers.data / "guard.log"):
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        kinds = Counter(_cause(lines, at) for at, line in enumerate(lines) if " ERROR " in line or "Traceback" in line)
        told = ((what, count) for what, count in kinds.items() if not (full and _of_space(what)))
        complaints += [f"{path.name} has {count} times: {what}" for what, count in told]
    return complaints


def _of_space(complaint: str) -> bool:
    return any(words in complaint.lower() for words in ("no space left", "disk is full"))


def _cause(lines: Sequence[str], at: int) -> str:
    """The line that names the error which begins here."""
    if "Traceback" not in lines[at]:
        return lines[at].partition(" ERROR ")[2]
    return next((line for line in lines[at + 1 :] if not line.startswith(" ")), lines[at])


def _report(record: KillRecord, ledger: Ledger, records: Records, findings: Findings) -> dict[str, Any]:
    preempting = [decision for decision in records.decisions if decision["victims"]]
    return {
        "faults": dict(sorted(record.faults.items())),
        "wrong": {kind: findings.kinds[kind] for kind in KINDS},
        "killed": {"starting": record.starting, "serving": record.serving},
        "between_kills_s": {"p50": _p50(record.gaps_s), "max": max(record.gaps_s, default=0.0)},
        "also_killed": {"zygotes": record.zygotes, "supervisors": len(record.supervisors)},
        "kills_that_met": dict(sorted(record.phases.items())),
        "ready_s": {
            "p50": _p50(record.ready_s),
            "max": max(record.ready_s, default=0.0),
            "starts": len(record.ready_s),
        },
        "jobs": dict(Counter(job["state"] for job in records.jobs.values())),
        "submissions": {
            "acknowledged": len(ledger.taken),
            "unanswered": ledger.unanswered,
            "there_after_all": ledger.there,
            "not_asked_again": len(ledger.lost),
            "missing_after_a_restore": len(ledger.missing & ledger.taken),
            "set_back_by_a_restore": findings.set_back,
            "of_these_there": len(ledger.lost & records.jobs.keys()),
        },
        "attempts": {
            "recorded": findings.attempts,
            "ended_before_a_line": findings.silent,
            "resumed": findings.resumed,
            "lost_their_supervisor": findings.lost,
            "finished_after_saving": findings.finished,
            "photo_finishes": findings.photo_finishes,
        },
        "preemptions": {
            "decisions": len(preempting),
            "victims": sum(len(decision["victims"]) for decision in preempting),
            "counted": sum(one["preempted"] for one in records.jobs.values()),
        },
    }


def _p50(samples: Sequence[float]) -> float:
    return median(samples) if samples else 0.0
