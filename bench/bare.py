"""Bare event loops: a heap and counters, nothing else. The yardstick of `cede bench sim`, and no scheduler."""

from __future__ import annotations

import heapq
from bisect import insort

Job = tuple[int, int, int, int]
"""When it comes, how long it runs, how much it takes, and how long it says it runs, or its priority."""


def easy(jobs: list[Job], capacity: int) -> float:
    """The mean wait under EASY backfilling on one counter."""
    free, at, now, wait = capacity, 0, 0, 0
    queue: list[Job] = []
    ends: list[tuple[int, int, int]] = []
    running: dict[int, tuple[int, int]] = {}
    number = 0
    while at < len(jobs) or ends:
        now = ends[0][0] if ends and (at == len(jobs) or ends[0][0] <= jobs[at][0]) else jobs[at][0]
        while ends and ends[0][0] == now:
            _, job, size = heapq.heappop(ends)
            free += size
            del running[job]
        while at < len(jobs) and jobs[at][0] == now:
            queue.append(jobs[at])
            at += 1
        shadow, left, place = None, 0, 0
        while place < len(queue) and free:
            came, runs, size, says = queue[place]
            if place and shadow is None:
                then = free
                for end, other in sorted(running.values()):
                    if shadow is not None and end > shadow:
                        break
                    then += other
                    if shadow is None and then >= queue[0][2]:
                        shadow = max(end, now)
                left = then - queue[0][2]
            late = shadow is not None and now + says > shadow
            if size > free or (place and late and size > left):
                place += 1
                continue
            left -= size if place and late else 0
            free -= size
            wait += now - came
            running[number] = (now + says, size)
            heapq.heappush(ends, (now + runs, number, size))
            number += 1
            del queue[place]
    return wait / len(jobs)


def strict(jobs: list[Job], capacity: int) -> float:
    """The mean wait if nobody passes the first that waits, on one counter."""
    free, at, first, wait = capacity, 0, 0, 0
    queue: list[Job] = []
    ends: list[tuple[int, int]] = []
    while at < len(jobs) or ends:
        now = ends[0][0] if ends and (at == len(jobs) or ends[0][0] <= jobs[at][0]) else jobs[at][0]
        while ends and ends[0][0] == now:
            free += heapq.heappop(ends)[1]
        while at < len(jobs) and jobs[at][0] == now:
            queue.append(jobs[at])
            at += 1
        while first < len(queue) and queue[first][2] <= free:
            came, runs, size, _ = queue[first]
            free -= size
            wait += now - came
            heapq.heappush(ends, (now + runs, size))
            first += 1
    return wait / len(jobs)


def preempting(jobs: list[Job], capacity: int) -> tuple[float, int]:
    """The mean wait and the evictions if who is higher takes the room of the lowest, newest first, on one counter.

    The others wait in order of priority; who fits passes. A victim begins anew.
    """
    free, at, wait, evictions = capacity, 0, 0, 0
    queue: list[tuple[int, int, int, int]] = []
    ends: list[tuple[int, int]] = []
    running: dict[int, tuple[int, int]] = {}
    lowest: list[tuple[int, int, int]] = []
    started: set[int] = set()

    def start(job: int, now: int) -> None:
        nonlocal free, wait
        came, runs, size, priority = jobs[job]
        free -= size
        if job not in started:
            started.add(job)
            wait += now - came
        running[job] = (now, size)
        heapq.heappush(ends, (now + runs, job))
        heapq.heappush(lowest, (priority, -now, job))

    while at < len(jobs) or ends:
        now = ends[0][0] if ends and (at == len(jobs) or ends[0][0] <= jobs[at][0]) else jobs[at][0]
        while ends and ends[0][0] == now:
            _, job = heapq.heappop(ends)
            if job in running and running[job][0] + jobs[job][1] == now:
                free += running.pop(job)[1]
        while at < len(jobs) and jobs[at][0] == now:
            insort(queue, (-jobs[at][3], at, jobs[at][2], at))
            at += 1
        place = 0
        while place < len(queue) and free:
            if queue[place][2] <= free:
                start(queue.pop(place)[3], now)
            else:
                place += 1
        while queue and lowest:
            order, _, size, job = queue[0]
            priority, begun, victim = lowest[0]
            if victim not in running or running[victim][0] != -begun:
                heapq.heappop(lowest)
                continue
            if priority >= -order or free >= size:
                break
            heapq.heappop(lowest)
            free += running.pop(victim)[1]
            evictions += 1
            insort(queue, (-priority, victim, jobs[victim][2], victim))
            if free >= size:
                queue.remove((order, job, size, job))
                start(job, now)
    return wait / len(jobs), evictions
