"""Where the shipped schedulers of Lattice put a workload: out of a list of free nodes, which are in order of name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.referees.lattice_reading import Site, takes
from tests.referees.lattice_score import fingerprint
from tests.referees.reading import Machine, Work

Slots = list[Machine]
"""A node as often as one more member finds room there; once if it is taken whole."""


def sensitive(work: Work) -> bool:
    """What the solver takes as sensitive: class 10, or the tag that the flag stands for."""
    return bool(work.asks("sensitive")) or work.priority >= 10


def fits(site: Site, wished: Site, name: str) -> bool:
    """Whether its scheduler finds room; `wished` is the same site where workloads have their wishes."""
    work = site.works[name]
    if not site.machines:
        return True
    if site.alike(work):
        return place(site, wished.works[name]) is not None
    kind = site.type_of(work.asks("queue"))
    usable = [one for one in site.usable(work) if kind != "sensitive" or fingerprint(one) is not None]
    if kind in ("service", "interactive"):
        return site.fits(work)
    if any(site.holds(work, site.rooms(same), same) for same in _by_fingerprint(usable)):
        return True
    if kind == "sensitive" or sensitive(work):
        return False
    if wished.works[name].asks("placement") != "spread":
        return site.fits(work)
    least = {key: min(need.get(key, 0) for need in work.needs) for key in work.needs[0]}
    free = [one for one in usable if takes(site.free(one), least)]
    return wished.holds(wished.works[name], site.rooms(free), free)


def place(site: Site, work: Work) -> list[str] | None:
    """A node for each member, members being equal."""
    if not site.machines:
        return []
    kind, wanted = site.type_of(work.asks("queue")), len(work.needs)
    free = sorted(site.usable(work), key=lambda one: one.name)
    slots = [one for one in free for _ in range(min(wanted, takes(site.free(one), work.needs[0])))]
    if kind == "interactive":
        found = slots
    elif kind == "service":
        dense = Counter(
            site.group_of(site.machines[node])
            for name, nodes in site.placed.items()
            if site.works[name].asks("queue") == work.asks("queue")
            for node in set(nodes)
        )
        found = sorted(slots, key=lambda one: (-dense[site.group_of(one)], site.group_of(one)))
    else:
        known = [one for one in slots if kind != "sensitive" or fingerprint(one) is not None]
        found = max(_by_fingerprint(known), key=len, default=[])
        if len(found) < wanted and kind != "sensitive" and not sensitive(work):
            found = _by_topology(site, work, slots)
    return [one.name for one in found[:wanted]] if len(found) >= wanted else None


def _by_topology(site: Site, work: Work, slots: Slots) -> Slots:
    groups: dict[str, Slots] = {}
    for slot in slots:
        groups.setdefault(site.group_of(slot), []).append(slot)
    in_order = [groups[name] for name in sorted(groups)]
    match work.asks("placement", "any"):
        case "tight":
            return [slot for group in sorted(in_order, key=len, reverse=True) for slot in group]
        case "spread":
            even = -(-len(work.needs) // max(1, len(groups)))
            return [slot for group in in_order for slot in group[:even]]
    return slots


def _by_fingerprint(nodes: Sequence[Machine]) -> list[Slots]:
    """Those alike, in the order in which they come; those of which it is not known are alike too."""
    found: dict[str | None, Slots] = {}
    for node in nodes:
        found.setdefault(fingerprint(node), []).append(node)
    return list(found.values())
