"""Pools and operations as a tree for each partition: parents and children, their order and settings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cede.doctrines.ytsaurus.settings import Amounts, Operation, Pool, Tree, operation_of, pools_of, root_pool, tree_of
from cede.model.cluster import App
from cede.state.columns import DOWN, NONE, Bools, Int64s, Rows
from cede.state.entry import partition_of
from cede.state.state import State
from cede.state.units import WHOLE

Key = tuple[int, str]
"""An operation: its pool, and the name of its app."""


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools; those from `size` on are the roots, one a partition. Parents come before children in `down`."""

    state: State
    tree: Tree
    settings: list[Pool]
    parent: list[int]
    tree_of: list[int]
    children: list[list[int]]
    down: list[int]
    paths: list[list[int]]
    levels: list[tuple[Rows, Rows]]
    """Pools and their parents, level by level below the roots, so that a whole level is worked out at once."""
    columns: Rows
    """The plain resource columns that shares are counted in."""
    folded: list[list[int]]
    """For each of them the columns that count as it: its own, and its flavors."""
    total: Int64s
    """What the nodes of each partition have in all, one row a partition."""
    names: list[str]
    """Of pools; of a root, as the release writes it."""

    @property
    def size(self) -> int:
        return len(self.settings) - len(self.total)

    def name(self, pool: int) -> str:
        """The name of a pool; of the root, as the release writes it."""
        return self.names[pool]

    def pool_of(self, queue: int, partition: int) -> int:
        """The pool that work of this queue belongs to."""
        return queue if queue != NONE else self.size + partition

    def amounts(self, table: Int64s, rows: Rows) -> Int64s:
        """Amounts of workloads, (rows, resources), whatever their flavors."""
        picked = table[:, rows]
        if not self.folded:
            return np.zeros((len(rows), 0), np.int64)
        return np.stack([picked[columns].sum(axis=0) for columns in self.folded], axis=1)


def read_pools(state: State) -> Pools:
    """The pools as the file has them; kept as long as no queue, node or unit changes."""
    key = state.journal.reshaped
    kept = state.tree.derived.get("ytsaurus.elements")
    if kept is not None and kept[0] == key:
        pools: Pools = kept[1]
        return pools
    pools = _read(state)
    state.tree.derived["ytsaurus.elements"] = (key, pools)
    return pools


def _read(state: State) -> Pools:
    tree = tree_of(state)
    settings = list(pools_of(state, tree))
    size, partitions = len(settings), len(state.partitions.names)
    settings += [root_pool(tree)] * partitions
    trees = [partition_of(state, row) for row in range(size)] + list(range(partitions))
    parent = []
    for row in range(size):
        above = int(state.tree.parent[row])
        parent.append(above if above != NONE and trees[above] == trees[row] else size + trees[row])
    parent += [NONE] * partitions
    children: list[list[int]] = [[] for _ in settings]
    for row in sorted(range(size), key=state.tree.names.__getitem__):
        children[parent[row]].append(row)
    down = list(range(size, size + partitions))
    for pool in down:
        down.extend(children[pool])
    paths: list[list[int]] = [[] for _ in settings]
    for pool in down:
        paths[pool] = [pool, *(paths[parent[pool]] if parent[pool] != NONE else [])]
    levels: dict[int, list[int]] = {}
    for pool in down[partitions:]:
        levels.setdefault(len(paths[pool]), []).append(pool)
    by_level = [
        (np.array(level, np.intp), np.array([parent[pool] for pool in level], np.intp)) for level in levels.values()
    ]
    columns = np.array(state.units.plain or [WHOLE], np.intp)  # a file without resources has shares of nothing
    names = [state.units.names[column] for column in columns]
    folded = [[int(column), *state.units.flavored.get(name, ())] for column, name in zip(columns, names, strict=True)]
    nodes, count = state.nodes, state.nodes.size
    usable = np.maximum(nodes.capacity[:, :count] - nodes.occupied[:, :count], 0)[columns]
    total = np.zeros((partitions, len(columns)), np.int64)
    for partition in range(partitions):
        here = (nodes.partition[:count] == partition) & (nodes.state[:count] != DOWN)
        total[partition] = usable[:, here].sum(axis=1)
    called = [*state.tree.names[:size], *["<Root>"] * partitions]
    return Pools(state, tree, settings, parent, trees, children, down, paths, by_level, columns, folded, total, called)


class Operations:
    """Operations by number, in the order in which they were met; `order` is depth first, children by name."""

    def __init__(self, pools: Pools) -> None:
        self.pools = pools
        self.index: dict[Key, int] = {}
        self.names: list[str] = []
        self.pool: list[int] = []
        self.settings: list[Operation] = []
        self._entries: dict[str, App] = {app.name: app for app in pools.state.static.apps}
        self.limited: dict[int, Amounts] = {}
        """Limits of operations that have some of their own."""
        self.graceful = False
        """Whether some are preempted gracefully."""
        self._unlisted: dict[int, Operation] = {}
        self._order: Rows | None = None
        self._below: list[Rows] | None = None
        self._above: Rows = np.zeros(0, np.intp)
        self._entered = 0

    def __len__(self) -> int:
        return len(self.names)

    def number(self, pool: int, name: str) -> int:
        """The operation of this name in this pool, entered if it is new."""
        number = self.index.get((pool, name))
        if number is None:
            number = self.index[pool, name] = len(self.names)
            self.names.append(name)
            self.pool.append(pool)
            settings = self._settings(pool, name)
            self.settings.append(settings)
            if settings.limits is not None:
                self.limited[number] = settings.limits
            self.graceful |= settings.graceful
            self._order = self._below = None
        return number

    def _settings(self, pool: int, name: str) -> Operation:
        """What counts for it; for all of a pool that the file does not list that is the same."""
        entry, pools = self._entries.get(name), self.pools
        if entry is not None:
            return operation_of(entry, pools.settings[pool], pools.tree)
        settings = self._unlisted.get(pool)
        if settings is None:
            settings = self._unlisted[pool] = operation_of(None, pools.settings[pool], pools.tree)
        return settings

    def place(self, number: int) -> tuple[tuple[str, int, int], ...]:
        """What puts it in `order`: the names of the pools above it, from the root down, and its own."""
        path = self.pools.paths[self.pool[number]]
        above = [(self.pools.name(pool), 0, pool) for pool in reversed(path[:-1])]
        return (("", 0, path[-1]), *above, (self.names[number], 1, number))

    def enter_listed(self) -> None:
        """Operations that the file lists, whether they have work or not."""
        state = self.pools.state
        known = {name for _, name in self.index}
        for app in state.static.apps:
            if app.name in known:
                continue
            queue = NONE if app.queue is None else state.tree.index[app.queue]
            partition = partition_of(state, queue) if queue != NONE else 0
            self.number(self.pools.pool_of(queue, partition), app.name)

    @property
    def above(self) -> Rows:
        """The pool of each operation."""
        size, known = len(self.pool), self._entered
        if size > known:
            if size > len(self._above):
                self._above = np.concatenate((self._above, np.zeros(size, np.intp)))
            self._above[known:size] = self.pool[known:]
            self._entered = size
        return self._above[:size]

    def is_listed(self, number: int) -> bool:
        """Whether the file lists this one."""
        return self.names[number] in self._entries

    @property
    def below(self) -> list[Rows]:
        """The operations of each pool, by name."""
        if self._below is None:
            below: list[list[int]] = [[] for _ in self.pools.settings]
            for number in sorted(range(len(self)), key=self.names.__getitem__):
                below[self.pool[number]].append(number)
            self._below = [np.array(numbers, np.intp) for numbers in below]
        return self._below

    @property
    def is_ordered(self) -> bool:
        """Whether `order` is known."""
        return self._order is not None

    @property
    def order(self) -> Rows:
        """The place of each operation when the trees are walked depth first, children by name, pools first."""
        if self._order is None:
            place = np.empty(len(self), np.intp)
            count = 0
            pools = self.pools
            stack: list[tuple[bool, int]] = [(True, root) for root in reversed(range(pools.size, len(pools.settings)))]
            while stack:
                is_pool, number = stack.pop()
                if not is_pool:
                    place[number] = count
                    count += 1
                    continue
                among = [(pools.name(child), 0, child) for child in pools.children[number]]
                among += [(self.names[child], 1, child) for child in self.below[number].tolist()]
                stack += [(kind == 0, child) for _, kind, child in sorted(among, reverse=True)]
            self._order = place
        return self._order

    def mask(self, attribute: str) -> Bools:
        """A setting of all operations that is true or false."""
        return np.array([getattr(one, attribute) for one in self.settings], np.bool_)
