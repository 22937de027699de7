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
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from tempfile import mkdtemp
from typing import Any

from cede.cli.bench.crash import evidence, job
from cede.cli.bench.crash.audit import Found, Records, audit
from cede.cli.bench.crash.killing import Killer, Toll
from cede.cli.bench.crash.serving import Nursery, Servers, end_remains, remains
from cede.cli.bench.crash.stream import Ledger, Stream, drain
from cede.cli.bench.crash.wishes import CLUSTER
from cede.live.client import Client
from cede.live.client.results import Event, Workload
from cede.live.executors.local.guard import files

STUCK_S = 45.0
"""So long nothing may move before what has not ended counts as lost."""
OTHER_PYTHON = "/usr/bin/python3"
Tell = Callable[[str, int], object]
"""Told what is being done, and how many kills are done."""


def measured(kills: int, seed: int, *, keep: bool, tell: Tell) -> dict[str, Any]:
    """Everything that `bench crash` reports, as plain data. The folder stays if asked for, or if something is wrong."""
    folder = Path(mkdtemp(prefix="cede-crash-"))
    # Jobs under another account must reach their own folders in it.
    folder.chmod(0o711)
    stays = True
    try:
        report = _run(folder, kills, seed, tell)
        stays = keep or bool(report["violations"])
    except KeyboardInterrupt:
        stays = keep
        raise
    finally:
        if not stays:
            shutil.rmtree(folder)
    return report | {"folder": str(folder) if stays else None}


def _run(folder: Path, kills: int, seed: int, tell: Tell) -> dict[str, Any]:
    began = time.monotonic()
    account, python = worker()
    notes = folder / "evidence"
    notes.mkdir()
    notes.chmod(0o1777)
    tell("loading the server", 0)
    nursery = Nursery()
    servers = Servers(nursery, folder, CLUSTER, account)
    try:
        program = str(Path(job.__file__))
        stream = Stream(seed, lambda wish: wish.command(python, program, str(notes)), servers.data)
        stream.start()
        killer = Killer(seed, servers, stream)
        killer.kill(kills, lambda done: tell("killing", done))
        last = killer.last()
        stream.stop(STUCK_S)
        with Client(data=servers.data) as client:
            left = drain(client, STUCK_S, lambda count: tell(f"waiting for {count} jobs to end", kills))
            records, problems = _records(client, servers.data), _nodes(client)
        last.stop()
        tell("auditing", kills)
        found = audit(stream.ledger, records, evidence.read(notes), killer.toll.supervisors, left)
        found.violations += [*problems, *_leftovers(servers.data), *_integrity(servers.data), *_logged(folder)]
    finally:
        nursery.close()
        end_remains(servers.data)
    report = _report(killer.toll, stream.ledger, records, found)
    setting = {"seed": seed, "account": account, "seconds": time.monotonic() - began}
    return {"kills": kills, **setting, **report, "violations": found.violations}


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
    jobs: dict[str, Workload] = {found["name"]: found for found in client.jobs(order="oldest")}
    events: dict[str, list[Event]] = {}
    for event in client.events(after=0):
        events.setdefault(event["workload"], []).append(event)
    ends = data.glob("jobs/*/attempts/*/*/exit.json")
    told = {end.parent.parent for end in ends if (files.get(str(end.parent), end.name) or {}).get("told")}
    signalled = {(attempt.parent.parent.name, int(attempt.name)) for attempt in told}
    return Records(jobs, events, list(client.decisions()), signalled)


def _nodes(client: Client) -> list[str]:
    """Room that somebody still has."""
    found = []
    for node in client.nodes():
        for what in ("held", "leaving", "used", "occupied"):
            amounts = {name: size for name, size in node[what].items() if str(size) != "0"}
            if amounts or node["workloads"]:
                found.append(f"{node['name']} has {amounts or node['workloads']} {what} though all is over")
    return found


def _leftovers(data: Path) -> list[str]:
    found = [f"process {left.pid} is left: {left.what}" for left in remains(data)]
    return found + [f"the attempt {path.name} was never settled" for path in sorted((data / "active").iterdir())]


def _integrity(data: Path) -> list[str]:
    with closing(sqlite3.connect(f"file:{data / 'cede.db'}?mode=ro", uri=True)) as store:
        found = [str(row[0]) for row in store.execute("PRAGMA integrity_check")]
        broken = store.execute("PRAGMA foreign_key_check").fetchall()
    problems = [f"the store is damaged: {one}" for one in found if one != "ok"]
    return problems + [f"the store points nowhere: {one}" for one in broken]


def _logged(folder: Path) -> list[str]:
    """What servers and supervisors had to complain about."""
    found = []
    for path in (folder / "server.log", folder / "data" / "guard.log"):
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        kinds = Counter(_cause(lines, at) for at, line in enumerate(lines) if " ERROR " in line or "Traceback" in line)
        found += [f"{path.name} has {count} times: {what}" for what, count in kinds.items()]
    return found


def _cause(lines: Sequence[str], at: int) -> str:
    """The line that names the error which begins here."""
    if "Traceback" not in lines[at]:
        return lines[at].partition(" ERROR ")[2]
    return next((line for line in lines[at + 1 :] if not line.startswith(" ")), lines[at])


def _report(toll: Toll, ledger: Ledger, records: Records, found: Found) -> dict[str, Any]:
    preempting = [decision for decision in records.decisions if decision["victims"]]
    return {
        "killed": {"starting": toll.starting, "serving": toll.serving},
        "between_kills_s": {"p50": _p50(toll.gaps_s), "max": max(toll.gaps_s, default=0.0)},
        "also_killed": {"zygotes": toll.zygotes, "supervisors": len(toll.supervisors)},
        "kills_that_met": dict(sorted(toll.phases.items())),
        "ready_s": {"p50": _p50(toll.ready_s), "max": max(toll.ready_s, default=0.0), "starts": len(toll.ready_s)},
        "jobs": dict(Counter(found_job["state"] for found_job in records.jobs.values())),
        "submissions": {
            "acknowledged": len(ledger.taken),
            "unanswered": ledger.unanswered,
            "there_after_all": ledger.there,
            "not_asked_again": len(ledger.lost),
            "of_these_there": len(ledger.lost & records.jobs.keys()),
        },
        "attempts": {
            "recorded": found.attempts,
            "ended_before_a_line": found.silent,
            "resumed": found.resumed,
            "lost_their_supervisor": found.lost,
            "finished_after_saving": found.finished,
            "photo_finishes": found.photo_finishes,
        },
        "preemptions": {
            "decisions": len(preempting),
            "victims": sum(len(decision["victims"]) for decision in preempting),
            "counted": sum(one["preempted"] for one in records.jobs.values()),
        },
    }


def _p50(samples: Sequence[float]) -> float:
    return median(samples) if samples else 0.0
