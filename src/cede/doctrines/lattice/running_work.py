"""Work that holds room: sums of it, what each costs as a victim, and what may be taken for which claimant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from cede.doctrines.lattice.core_library import saving_minutes
from cede.doctrines.lattice.kinds import Holding, Kind, Profile
from cede.doctrines.lattice.room_bounds import Freeable
from cede.doctrines.lattice.score import asked_nodes, gpus_per_node, hours_of
from cede.doctrines.lattice.settings import Settings
from cede.doctrines.lattice.victim_costs import BEYOND, CostFloor, Offer, Price, Prices, least_cost
from cede.doctrines.lattice.victim_pool import Pool
from cede.doctrines.parts.claim import Claim, residents_of_all
from cede.doctrines.parts.cost import MANUAL, MINUTE, NO_CHECKPOINT, gpu_columns, sizes_of
from cede.model.quantities import NANO
from cede.state.columns import NEVER, RUNNING
from cede.state.state import State
from cede.state.write_behind import Record


class RunningWork:
    """One entry a workload that holds room, kept from cycle to cycle by `stand` and `drop`."""

    def __init__(self, state: State, settings: Settings, *, policy: bool) -> None:
        self.state, self.settings, self.policy = state, settings, policy
        self.rows: dict[int, Holding] = {}
        self.hours = 0
        self.used = 0
        self.held: dict[int, int] = {}
        self.timed = 0
        """How many hold room and say for how long."""
        self.freeable = Freeable(state, settings.max_victims)
        self.homes = self.freeable.homes
        self.open: dict[tuple[int, int], dict[str, int]] = {}
        """Under the library, by partition and class: who could be taken, and how many nodes each holds."""
        self._sizes: dict[tuple[int, int], dict[int, int]] = {}
        """Of the same, how many hold so many nodes."""
        self.priced = policy and self.homes is None
        self._priced_rows = not policy or self.priced
        self.prices = Prices(state)
        self._came = 0
        """Counts those that may be taken since now."""
        self._number: dict[str, int] = {}
        """Of each of them that still may, the how manieth it was."""
        capacity = [(state.nodes.capacity[column].tolist(), state.units.nano[column]) for column in gpu_columns(state)]
        self._node_gpus = [
            sum(amounts[node] * nano for amounts, nano in capacity) or NANO for node in range(state.nodes.size)
        ]
        """What each node has of GPUs, in nano-units; one GPU where it has none."""
        self.touched: set[int] = set()
        """Nodes where something changed since those that wait looked last."""
        self.opened: dict[str, tuple[int, int]] = {}
        """Under the library, by name, partition and class of those that may be taken since then."""

    def drop(self, row: int) -> None:
        """It holds no room any more, if it did."""
        held = self.rows.pop(row, None)
        if held is not None:
            self._count(row, held, -1)

    def least_on(self, node: int, floor: CostFloor) -> int | None:
        """What room for a member costs on this node, if that is less than the floor."""
        short = floor.room.short_on(node)
        offers: list[Offer] = []
        now = self.state.now
        for row in self.freeable.standing.get(node, ()):
            held = self.holding(row)
            if (
                held.price is None
                or held.shielded
                or held.priority >= floor.below
                or held.partition != floor.partition
                or held.price.ends_within(self.settings.near_end, now)
            ):
                continue
            cost = held.price.at(now)
            if cost < floor.base:
                amounts = held.amounts[held.nodes.index(node)]
                offers.append((cost, tuple([amounts[column] for column, _ in short])))
        return least_cost(tuple(lack for _, lack in short), offers, self.settings.max_victims, floor.base)

    def holding(self, row: int) -> Holding:
        """What is kept of one that has room."""
        return self.rows[row]

    def pool(self, claim: Claim, kind: Kind) -> Pool | None:
        """What may go for one that waits, as `policy.pool_for` has it, where no node has a home.

        The masks are kept up to date row by row instead of worked out from the columns: those that a rule protects from
        every claimant have no price, so that class, partition and the time of their end are all that is left to ask.
        """
        form, state = kind.form, self.state
        if not self.priced or form.claims:
            return None
        rows = self.prices.below(form.priority, form.partition, state.now, self.settings.near_end)
        if not claim.allowed.all():
            residents = residents_of_all(state, rows)
            here = np.zeros(state.work.size, np.bool_)
            here[state.residents.work[residents[claim.allowed[state.residents.node[residents]]]]] = True
            rows = rows[here[rows]]
        value = None if kind.value == BEYOND else kind.value
        counted = np.ones(len(rows), np.bool_)
        return Pool(state, claim, rows, self.prices.costs(rows, state.now), counted, self.settings.max_victims, value)

    def stand(self, row: int, code: int, record: Record | None, like: Profile) -> None:
        """It holds room: where, and what may be taken of it."""
        state = self.state
        counted = self.policy or code == RUNNING
        open_ = code == RUNNING and like.open
        amounts: list[list[int]] = []
        if record is None:
            work, residents = state.work, state.residents
            on = state.residents_of(row)
            nodes = [residents.node.item(at) for at in on]
            walltime, began = work.walltime.item(row), work.started.item(row)
            takes, last = work.checkpoint_time.item(row), work.checkpoint_last.item(row)
            if open_:
                amounts = [residents.amount[:, at].tolist() for at in on]
        else:
            nodes = list(record.nodes)
            walltime, began, saved = record.walltime, record.started, record if record.saved else record.template
            takes, last = saved.checkpoint_time, saved.checkpoint_last
            if len(nodes) > 1:
                members = Counter(nodes)
                nodes = list(members)
                if open_:
                    amounts = [[count * amount for amount in like.amounts] for count in members.values()]
            elif open_:
                amounts = [like.amounts] * len(nodes)
        size, gpus = self._size(row, like, nodes, record)
        held = Holding(
            state.work_names[row],
            code,
            nodes,
            counted,
            like.tenant,
            size,
            hours_of(walltime, gpus if self.policy else size, policy=self.policy) if counted else 0,
            walltime != NEVER,
            open_,
            like.partition,
            like.priority,
            amounts,
            self._price(like, takes, began, last, walltime, gpus if self.policy else size) if open_ else None,
            like.shielded,
        )
        if self.rows.get(row) == held:
            return  # it saved its work: who may be taken, and for what, is as it was
        self.drop(row)
        self.rows[row] = held
        self._count(row, held, 1)

    def _count(self, row: int, held: Holding, sign: int) -> None:
        self.touched.update(held.nodes)
        if held.counted:
            self.hours += sign * held.hours
            self.used += sign * held.size
            self.held[held.tenant] = self.held.get(held.tenant, 0) + sign * held.size
        self.timed += sign * held.timed
        if not held.open:
            return
        if self._priced_rows and sign < 0:
            self.prices.shut(row)
        elif self._priced_rows and held.price is not None and not (self.policy and held.shielded):
            self.prices.set(row, held.priority, held.partition, held.price, held.nodes, held.amounts)
        if self.policy:
            self.freeable.take(row, held, sign)
            return
        at = held.partition, held.priority
        if sign > 0:
            self._came += 1
            self._number[held.name] = self._came
            self.open.setdefault(at, {})[held.name] = held.size
            sizes = self._sizes.setdefault(at, {})
            sizes[held.size] = sizes.get(held.size, 0) + 1
            self.opened[held.name] = at
        else:
            del self.open[at][held.name], self._number[held.name]
            self._sizes[at][held.size] -= 1
            self.opened.pop(held.name, None)

    def _price(self, like: Profile, takes: int, began: int, last: int, walltime: int, size: float) -> Price:
        """What the policy says that it costs; the library, which looks at no checkpoint, has its own numbers."""
        saving, assumed = like.checkpoint, self.settings.assumed
        if not self.policy:
            saves = None if saving == NO_CHECKPOINT else saving_minutes(saving)
            return Price(saves, began, NEVER, walltime, size)
        if saving == NO_CHECKPOINT:
            return Price(None, began, last, walltime, size)
        own = (assumed.manual if saving == MANUAL else assumed.auto) if takes == NEVER else takes
        return Price(own / MINUTE, began, NEVER, walltime, size)

    def _size(self, row: int, like: Profile, on: list[int], record: Record | None) -> tuple[int, float]:
        """Nodes, and GPUs of nodes, of one that has room."""
        if record is not None and on:
            if not like.exclusive:
                return len(on), len(on) * like.gpus
            return record.template.members, sum([self._node_gpus[node] for node in on]) / NANO
        state = self.state
        if like.exclusive or row in state.parts or not on:
            rows = np.array([row])
            nodes, gpus = sizes_of(state, rows)
            if self.policy and not on:
                gpus = asked_nodes(state, rows) * gpus_per_node(state, rows)
            return int(nodes[0]), float(gpus[0])
        return len(on), len(on) * like.gpus

    def victims(self, kind: Kind) -> bool:
        """Whether as many of a lower class as may go, wherever, who were not taken for it in vain, hold as many nodes
        as it wants: that is all the library asks for, whatever they cost.

        Where one of them holds as many, that is so as long as this one may go; where they are too few it stays so until
        somebody comes who may go. Whoever takes more in vain becomes a kind of its own anew."""
        if kind.enough is not None:
            at, name = kind.enough
            if self.open[at].get(name, 0) >= kind.form.members:
                return True
        return kind.too_few_at != self._came and self._victims(kind)

    def _victims(self, kind: Kind) -> bool:
        form, most = kind.form, self.settings.max_victims
        below = [at for at in self.open if at[0] == form.partition and at[1] < form.priority]
        if form.members == 1:
            enough = most > 0 and self._came_for(kind, below)
        else:
            sizes: dict[int, int] = {}
            for at in below:
                for size, count in self._sizes[at].items():
                    sizes[size] = sizes.get(size, 0) + count
            enough = _free(sorted(sizes.items(), reverse=True), most, form.members)
            if enough and kind.in_vain:
                enough = self._victims_left(kind, below)
        if not enough:
            kind.too_few_at = self._came
        return enough

    def _came_for(self, kind: Kind, below: list[tuple[int, int]]) -> bool:
        """Whether one who came since nobody was found may be taken: all who were there before were taken in vain, and
        are no others now. Who came last was not."""
        in_vain, number, before = kind.in_vain, self._number, kind.too_few_at
        for at in below:
            there = self.open[at]
            for name in reversed(there):
                if number[name] <= before:
                    break
                if name not in in_vain and there[name]:
                    kind.enough = at, name
                    return True
        return False

    def _victims_left(self, kind: Kind, below: list[tuple[int, int]]) -> bool:
        """As many of several members who were not taken for it in vain; who came last was not."""
        members, in_vain, most = kind.form.members, kind.in_vain, self.settings.max_victims
        sizes: dict[int, int] = {}
        for at in below:
            there = self.open[at]
            for name in reversed(there):
                if name in in_vain:
                    continue
                size = there[name]
                if size >= members:
                    kind.enough = at, name
                    return True
                count = sizes[size] = sizes.get(size, 0) + 1
                if size * min(count, most) >= members:
                    return True
        return _free(sorted(sizes.items(), reverse=True), most, members)


def _free(sizes: Iterable[tuple[int, int]], most: int, wanted: int) -> bool:
    """Whether so many hold so many nodes; of each size there are so many, the largest first."""
    for size, count in sizes:
        taken = min(count, most)
        wanted, most = wanted - taken * size, most - taken
        if wanted <= 0 or not most:
            break
    return wanted <= 0
