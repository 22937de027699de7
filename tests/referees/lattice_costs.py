"""What a preemption costs under Lattice and what a claimant is worth, in exact minutes and their millionths."""

from __future__ import annotations

from fractions import Fraction

from tests.referees.lattice_reading import DAY, HOUR, MINUTE, Site
from tests.referees.reading import Work

PARTS = 10**6
AUTO_MINUTES = 5


def checkpoint_minutes(site: Site, work: Work) -> Fraction | None:
    """How long it takes to save; none if it cannot."""
    mode, _, time = site.checkpoint(work)
    if mode == "none":
        return None
    if time is not None:
        return Fraction(time, MINUTE)
    return Fraction(AUTO_MINUTES) if mode == "auto" else Fraction(site.span("manual_checkpoint_time"), MINUTE)


def lost_minutes(site: Site, work: Work) -> Fraction:
    """The work of all its GPUs that is in no checkpoint, of one who writes none."""
    mode, last, _ = site.checkpoint(work)
    if mode != "none" or work.started is None:
        return Fraction()
    since = work.started if last is None else max(work.started, last)
    return Fraction(max(0, site.now - since), MINUTE) * site.gpu_nodes(work)


def used_share(elapsed: int, walltime: int) -> Fraction:
    return Fraction(elapsed, walltime) if walltime else Fraction(1)


def progress_minutes(used: Fraction) -> Fraction:
    if used >= Fraction(9, 10):
        return Fraction(1000)
    return Fraction(1) if used < Fraction(1, 10) else 100 * used


def cost(site: Site, work: Work) -> int:
    """Millionths of a minute."""
    walltime = site.walltime(work)
    elapsed = 0 if work.started is None else max(0, site.now - work.started)
    progress = Fraction() if walltime is None else progress_minutes(used_share(elapsed, walltime))
    return round(((checkpoint_minutes(site, work) or 0) + lost_minutes(site, work) + progress) * PARTS)


def value(site: Site, work: Work) -> int:
    """What it is worth to run this claimant, in the same unit."""
    walltime = site.walltime(work)
    minutes = Fraction(DAY if walltime is None else walltime, MINUTE)
    return round(Fraction(work.priority, 10) * site.gpu_nodes(work) * minutes * PARTS)


def gpu_hours(site: Site, work: Work) -> Fraction:
    walltime = site.walltime(work)
    return site.gpu_nodes(work) * Fraction(DAY if walltime is None else walltime, HOUR)


# -- edition core ------------------------------------------------------------------------------------------------------


def core_cost(site: Site, work: Work) -> float:
    """By the shipped code, which compares doubles: whole minutes, half of it for who runs above its share."""
    elapsed = 0 if work.started is None else max(0, site.now - work.started) // MINUTE
    saving = {"auto": 5, "manual": 10}.get(site.checkpoint(work)[0], site.size(work) * elapsed)
    lasts = (site.walltime(work) or 0) // MINUTE
    cost = float(saving)
    if lasts:
        used = elapsed / lasts
        cost += 1000.0 if used >= 0.9 else 1.0 if used < 0.1 else used * 100.0
    return cost * 0.5 if bursts(site, work) else cost


def bursts(site: Site, work: Work) -> bool:
    """Whether its tenant has an allowance, be it of nothing, and more runs than is its share."""
    tenant = site.tenant(work)
    if tenant.get("burst") is None or tenant.get("share") is None:
        return False
    return float(running_share(site, work)) > float(tenant["share"])


def running_share(site: Site, work: Work) -> Fraction:
    """What of its tenant's work runs, of the nodes that are ready."""
    mine = [one for one in running(site) if one.asks("tenant") == work.asks("tenant")]
    return Fraction(sum(map(site.size, mine)), ready(site)) if ready(site) else Fraction()


def running(site: Site) -> list[Work]:
    return [one for one in site.works.values() if one.state == "running" and one.name not in site.gone]


def ready(site: Site) -> int:
    return sum(machine.ready for machine in site.machines.values())


def actual_share(site: Site, work: Work) -> Fraction:
    """What its tenant's work holds of the nodes that are up."""
    up = sum(machine.entry.get("state", "ready") != "down" for machine in site.machines.values())
    held = sum(site.size(one) for one in site.holders() if one.asks("tenant") == work.asks("tenant"))
    return Fraction(held, max(1, up))
