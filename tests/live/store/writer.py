"""A process that writes to a store without end and says which version is safe, to be killed."""

import sys
from itertools import count

from cede.engine.drive.step import Transition
from cede.live.store.store import AuditRequest, Store
from cede.model.lifecycle import Phase, Signal
from tests.live.store.entries import START, job, made, stepped, submitted

EACH = 5
"""Workloads in a submission; every second step ends the first of them."""


def main(url: str) -> None:
    store = Store.open(url)
    begun = store.load().version // 2
    for number in count(begun):
        jobs = [job(f"w{number}-{at}") for at in range(EACH)]
        audit = [AuditRequest(at, "ann", "user", "submit", one.name) for at, one in enumerate(jobs)]
        if store.load().version % 2 == 0:
            print(submitted(store, *jobs, at=START + number, audit=audit), flush=True)
        name = jobs[0].name
        end = Transition(START + number, name, 1, Signal.COMPLETE, Phase.RUNNING, Phase.COMPLETED)
        ended = job(name, phase=Phase.COMPLETED, ended=START + number)
        version = stepped(
            store, at=START + number, changed=[ended], transitions=[end], decisions=[made(number + 1, name, "other")]
        )
        print(version, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
