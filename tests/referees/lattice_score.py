"""The score of a pending Lattice workload, factor by factor, in both editions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import cos, log, pi

from tests.referees.lattice_costs import actual_share, checkpoint_minutes, gpu_hours, ready, running, running_share
from tests.referees.lattice_reading import HOUR, Site
from tests.referees.reading import Machine, Work

HALF = Fraction(1, 2)
SECOND = HOUR // 3600
ROWS = {
    "hpc_batch": (15, 20, 20, 15, 10, 5, 0, 5, 10),
    "ml_training": (10, 10, 10, 25, 15, 5, 5, 15, 10),
    "service": (15, 5, 10, 5, 10, 5, 10, 10, 30),
    "sensitive": (90, 0, 0, 0, 0, 0, 0, 0, 10),
    "interactive": (10, 30, 10, 0, 5, 15, 0, 0, 30),
    None: (20, 20, 20, 15, 10, 5, 0, 0, 10),
}
FINGERPRINT = "fingerprint"


def score(site: Site, work: Work) -> int:
    """Edition `policy`, in billionths."""
    row = ROWS[site.type_of(work.asks("queue"))]
    factors: tuple[Fraction | float, ...] = (
        Fraction(work.priority, 10),
        waiting(site, work),
        deficit(site, work, system_use(site), actual_share(site, work)),
        topology(site, work),
        HALF,
        backlog(site),
        HALF,
        ease(site, work),
        sameness(site, work),
    )
    total = sum(float(weight * factor) for weight, factor in zip(row, factors, strict=True)) / sum(row)
    return round(total * budget(site, work) * 10**9)


def waiting(site: Site, work: Work) -> float:
    return log(1 + max(0, site.now - work.submitted) / HOUR)


def deficit(site: Site, work: Work, use: Fraction, held: Fraction) -> Fraction:
    """`use` of the whole system, and what its tenant has of it."""
    tenant = site.tenant(work)
    share = Fraction(str(tenant.get("share") or 0))
    if not share:
        return HALF
    burst = Fraction(str(tenant.get("burst") or 0))
    line = Fraction(8, 10)
    target = share * (1 + burst * (line - use) / line) if burst and use < line else share
    return max(Fraction(), target - held) / target


def system_use(site: Site) -> Fraction:
    up = [machine for machine in site.machines.values() if machine.entry.get("state", "ready") != "down"]
    return Fraction(sum(bool(site.people(machine)) for machine in up), max(1, len(up)))


def topology(site: Site, work: Work) -> Fraction:
    counts = Counter(site.group_of(one) for one in site.matching(work) if one.ready and site.group_of(one))
    if not counts:
        return HALF
    left, needed = site.size(work), 0
    for count in sorted(counts.values(), reverse=True):
        if left > 0:
            left -= count
            needed += 1
    return 1 - Fraction(needed, len(counts))


def backlog(site: Site) -> Fraction:
    waits = [work for work in site.works.values() if work.state in ("pending", "suspended")]
    queued = sum((gpu_hours(site, work) for work in waits), Fraction())
    running = sum((gpu_hours(site, work) for work in site.holders()), Fraction())
    return min(Fraction(1), queued / max(Fraction(1), running))


def ease(site: Site, work: Work) -> Fraction:
    minutes = checkpoint_minutes(site, work)
    return Fraction() if minutes is None else 1 / (1 + minutes)


def free_nodes(site: Site) -> list[Machine]:
    return [one for one in site.machines.values() if one.ready and not site.people(one)]


def fingerprint(machine: Machine) -> str | None:
    found: str | None = machine.entry.get("labels", {}).get(FINGERPRINT)
    return found


def sameness(site: Site, work: Work) -> Fraction:
    if all(fingerprint(machine) is None for machine in site.machines.values()):
        return HALF
    counts = Counter(fingerprint(one) or f"alone {one.name}" for one in free_nodes(site))
    return min(Fraction(1), Fraction(max(counts.values(), default=0), site.size(work)))


def budget(site: Site, work: Work) -> float:
    used = site.tenant(work).get("used")
    if used is None or used <= 0.8:
        return 1.0
    return 0.05 + 0.95 * (1 + cos(pi * (used - 0.8) / 0.4)) / 2 if used <= 1.2 else 0.05


# -- edition core ------------------------------------------------------------------------------------------------------


def core_score(site: Site, work: Work) -> int:
    """The shipped code's, in billionths: weights as they are, factors of its own where it has them."""
    kind = site.type_of(work.asks("queue"))
    row = (10, 10, 10, 25, 15, 5, 5, 10, 10) if kind == "ml_training" else ROWS[kind]
    groups = len({site.group_of(one) for one in site.machines.values() if site.group_of(one)})
    seconds = max(0, site.now - work.submitted) // SECOND
    of_cluster: tuple[Fraction, ...] = (HALF, _core_topology(site, work, 1), Fraction(), HALF)
    if kind != "service":
        of_cluster = (
            deficit(site, work, _core_use(site), running_share(site, work)),
            _core_topology(site, work, max(1, groups)),
            _core_backlog(site),
            _core_sameness(site, work),
        )
    share, near, pressure, same = of_cluster
    ease = {"auto": Fraction(1, 6), "manual": Fraction(1, 11)}.get(site.checkpoint(work)[0], Fraction())
    class_, waited = Fraction(work.priority, 10), log(1 + seconds / 3600)
    factors: tuple[Fraction | float, ...] = (class_, waited, share, near, HALF, pressure, HALF, ease, same)
    total = sum(float(weight * factor) for weight, factor in zip(row, factors, strict=True)) / 100
    return round(total * (1.0 if kind == "service" else budget(site, work)) * 10**9)


def _core_use(site: Site) -> Fraction:
    """Nodes of what runs, over those that are ready."""
    return Fraction(sum(map(site.size, running(site))), ready(site)) if ready(site) else Fraction()


def _core_topology(site: Site, work: Work, groups: int) -> Fraction:
    nodes = site.size(work)
    between = 1 - min(Fraction(1), Fraction(max(1, -(-nodes // groups)), groups))
    blend = Fraction(3 if nodes == 1 else 7, 10)
    return blend * between + (1 - blend) * HALF


def _core_backlog(site: Site) -> Fraction:
    waits = [work for work in site.works.values() if work.state in ("pending", "suspended")]
    queued, runs = (sum(_node_hours(site, one) for one in some) for some in (waits, running(site)))
    return min(Fraction(1), Fraction(queued, max(1, runs)))


def _node_hours(site: Site, work: Work) -> int:
    """Hours that are not whole do not count."""
    walltime = site.walltime(work)
    return site.size(work) * (24 if walltime is None else walltime // HOUR)


def _core_sameness(site: Site, work: Work) -> Fraction:
    counts = Counter(fingerprint(one) for one in free_nodes(site))
    return Fraction(max(counts.values(), default=0), site.size(work))
