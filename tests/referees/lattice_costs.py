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


def core_cost(site: Site, work: Work) -> int:
    """The same by the shipped code: whole minutes, half of it for who runs above its share on an allowance."""
    walltime = site.walltime(work)
    elapsed = 0 if work.started is None else max(0, site.now - work.started) // MINUTE
    mode, _, _ = site.checkpoint(work)
    saving = Fraction({"auto": 5, "manual": 10}.get(mode, site.size(work) * elapsed))
    lasts = (walltime or 0) // MINUTE
    progress = progress_minutes(used_share(elapsed, lasts)) if lasts else Fraction()
    return round((saving + progress) * (Fraction(1, 2) if bursts(site, work) else 1) * PARTS)


def bursts(site: Site, work: Work) -> bool:
    tenant = site.tenant(work)
    if not tenant.get("burst") or tenant.get("share") is None:
        return False
    return actual_share(site, work) > Fraction(str(tenant["share"]))


def actual_share(site: Site, work: Work) -> Fraction:
    """What its tenant's work holds of the nodes that are up."""
    up = sum(machine.entry.get("state", "ready") != "down" for machine in site.machines.values())
    held = sum(site.size(one) for one in site.holders() if one.asks("tenant") == work.asks("tenant"))
    return Fraction(held, max(1, up))
