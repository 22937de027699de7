"""Where the equal members of a Lattice workload go: home nodes first, then best fit; and reservations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from tests.referees.lattice_reading import DAY, WHOLE, End, Site, takes
from tests.referees.reading import Amounts, Machine, Work

Rooms = Mapping[str, Amounts]


def place(site: Site, work: Work, rooms: Rooms, *, home_first: bool = False) -> list[str] | None:
    """A node for each member, members being equal; none if there is no room. Borrowed ones if it must be.

    `home_first`: on nodes of its own vCluster before those of nobody.
    """
    usable = site.usable(work)
    if not site.holds(work, rooms, usable):
        return None

    def level(one: Machine) -> int:
        if site.borrowed(one, work.asks("queue")):
            return 2
        return 1 if home_first and one.entry.get("home") is None else 0

    for most in (1, 0):
        late: Rooms = {one.name: {} for one in usable if level(one) > most}
        if late and site.holds(work, {**rooms, **late}, usable):
            rooms = {**rooms, **late}
    if not site.machines:
        return []
    members = len(work.needs)
    counts = {one.name: min(members, takes(rooms[one.name], work.needs[0])) for one in usable}
    groups: dict[str, list[Machine]] = {}
    for one in sorted(usable, key=lambda one: (level(one), _preference(work, one, rooms))):
        groups.setdefault(site.group_of(one), []).append(one)
    placement = work.asks("placement", "any") if members > 1 else "any"
    if placement == "tight":
        enough = [name for name, nodes in groups.items() if sum(counts[one.name] for one in nodes) >= members]

        def key(name: str) -> tuple[int, int, str]:
            return (
                sum(level(site.machines[node]) > 0 for node in _fill(groups[name], counts, members)),
                sum(counts[one.name] for one in groups[name]),
                name,
            )

        return _fill(groups[min(enough, key=key)], counts, members)
    if placement == "spread":
        most = site.most_in_a_group(work, usable)
        shares = dict.fromkeys(sorted(groups), 0)
        for _ in range(members):
            open_groups = [
                name
                for name, share in shares.items()
                if share < min(most, sum(counts[one.name] for one in groups[name]))
            ]
            shares[min(open_groups, key=lambda name: (shares[name], name))] += 1
        return [node for name, share in shares.items() for node in _fill(groups[name], counts, share)]
    ordered = sorted(usable, key=lambda one: (level(one), _preference(work, one, rooms)))
    return _fill(ordered, counts, members)


def lent_to(site: Site, work: Work, nodes: Iterable[str]) -> int:
    """How many of these, one a member, it would borrow."""
    return sum(site.borrowed(site.machines[node], work.asks("queue")) for node in nodes)


def fewest_lent(site: Site, work: Work, rooms: Rooms) -> int:
    """How many of its members must stand on borrowed nodes at least: every placement is tried, the best first."""
    queue, usable = work.asks("queue"), site.usable(work)
    own = [one for one in usable if not site.borrowed(one, queue)]
    most = site.most_in_a_group(work, usable)
    best = len(work.needs)
    kinds = [tuple(sorted(need.items())) for need in work.needs]

    def go(member: int, left: Mapping[str, Amounts], nodes: tuple[Machine, ...]) -> None:
        nonlocal best
        lent = sum(one not in own for one in nodes)
        if lent >= best:
            return
        if member == len(work.needs):
            best = lent
            return
        for one in [*own, *(node for node in usable if node not in own)]:
            groups = [site.group_of(node) for node in nodes]
            mine = site.group_of(one)
            placement = work.asks("placement", "any")
            if placement == "tight" and groups and groups[0] != mine:
                continue
            if placement == "spread" and groups.count(mine) >= most:
                continue
            if member and kinds[member] == kinds[member - 1] and order.index(one.name) < order.index(nodes[-1].name):
                continue
            need = work.needs[member]
            if takes(left[one.name], need):
                room = {key: amount - need.get(key, 0) for key, amount in left[one.name].items()}
                go(member + 1, {**left, one.name: room}, (*nodes, one))

    order = [one.name for one in own] + [one.name for one in usable if one not in own]
    go(0, rooms, ())
    return best


def _fill(nodes: Collection[Machine], counts: Mapping[str, int], members: int) -> list[str]:
    return [one.name for one in nodes for _ in range(counts[one.name])][:members]


def _preference(work: Work, machine: Machine, rooms: Rooms) -> tuple[int, str]:
    left = Fraction()
    for key, total in machine.capacity.items():
        if key != WHOLE and total:
            left += Fraction(rooms[machine.name].get(key, 0) - work.needs[0].get(key, 0), total)
    return round(left * 10**9), machine.name


# -- natural ends ------------------------------------------------------------------------------------------------------


def room_at(site: Site, work: Work, ends: Collection[End]) -> int | None:
    """When walltimes make room for it, if they do."""
    for at in sorted({end.at for end in ends}):
        if site.fits(work, [end.name for end in ends if end.at <= at]):
            return at
    return None


@dataclass
class Reservation:
    """From `at` on the holder has its room; `left` is what is then free beside it, `ended` who has left by then.

    It would stand on `nodes`, or on others if somebody takes those and there is room elsewhere.
    """

    holder: Work
    at: int
    left: dict[str, Amounts]
    ended: set[str]
    nodes: list[str]

    def in_time(self, site: Site, work: Work) -> bool:
        walltime = site.walltime(work)
        return walltime is not None and site.now + walltime <= self.at

    def rooms(self, site: Site, work: Work) -> dict[str, Amounts]:
        """What this one may use now."""
        free = site.rooms(site.usable(work))
        if self.in_time(site, work):
            return free
        return {
            name: {key: min(amount, self.left[name].get(key, 0)) for key, amount in amounts.items()}
            for name, amounts in free.items()
        }

    def allows(self, work: Work, nodes: Collection[str]) -> bool:
        """Whether one that does not end in time may start on these nodes, one a member."""
        left = {name: dict(amounts) for name, amounts in self.left.items()}
        _add(left, nodes, work, -1)
        return all(
            left[node][key] >= 0 for node in nodes for need in work.needs for key, amount in need.items() if amount
        )

    def gives_way(self, site: Site, work: Work, nodes: Collection[str]) -> bool:
        """Whether the holder finds its room elsewhere when this one is on these nodes; if so that is kept."""
        then = {name: dict(amounts) for name, amounts in self.left.items()}
        _add(then, self.nodes, self.holder, 1)
        _add(then, nodes, work, -1)
        found = place(site, self.holder, then)
        if found is None:
            return False
        _add(then, found, self.holder, -1)
        _add(then, nodes, work, 1)
        self.left, self.nodes = then, found
        return True

    def take(self, site: Site, work: Work, nodes: Collection[str]) -> None:
        if not self.in_time(site, work):
            _add(self.left, nodes, work, -1)

    def leave(self, site: Site, work: Work) -> None:
        if work.name not in self.ended:
            _add(self.left, site.standing(work), work, 1)


def reserve(site: Site, work: Work) -> Reservation | None:
    """The reservation of one that waits for room."""
    ends = site.ends()
    at = room_at(site, work, ends)
    if at is None or at > site.now + DAY or not site.alike(work):
        return None
    ended = {end.name for end in ends if end.at <= at}
    left = site.rooms(site.machines.values(), ended)
    nodes = place(site, work, left)
    assert nodes is not None, "it fits then"
    _add(left, nodes, work, -1)
    return Reservation(work, at, left, ended, nodes)


def _add(rooms: dict[str, Amounts], nodes: Collection[str], work: Work, sign: int) -> None:
    for node, need in zip(nodes, work.needs, strict=False):
        for key, amount in need.items():
            rooms[node][key] = rooms[node].get(key, 0) + sign * amount
