"""The columns of the cluster: workloads, nodes, residents and queues, and what stands beside their rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cede.model.cluster import Constraints, Node, PodSet
from cede.state.amounts import Ask, taken
from cede.state.columns import NONE, READY, Int64s, Names, NodeColumns, ResidentColumns, WorkloadColumns
from cede.state.interning import Shared
from cede.state.labels import LabelSets
from cede.state.row_templates import RowTemplates
from cede.state.static import DEFAULT_PARTITION, Static
from cede.state.tree import QueueTree
from cede.state.units import FULL, WHOLE, Units


class ClusterColumns(ABC):
    """Rows are workloads, nodes, residents (a workload on a node) and queues.

    Amounts too odd for a column, pod sets and the like stand beside the rows they belong to.

    Rows of workloads may be written late, when somebody reads a column: `_unwritten` has those.
    """

    def __init__(self, static: Static, now: int) -> None:
        self.static = static
        self.now = now
        self.units = Units()
        self.shared = Shared()
        self._unwritten: dict[int, None] = {}
        self._work = WorkloadColumns(1)
        self._nodes = NodeColumns(1)
        self._residents = ResidentColumns(1)
        self._tree = QueueTree(1)
        self.partitions = Names([DEFAULT_PARTITION])
        self.flavors = Names()
        self.users = Names()
        self.projects = Names()
        self.domains = Names()
        self.tenants = Names()
        self.apps = Names()
        self.groups = Names([""])
        self.work_names: list[str] = []
        self.work_index: dict[str, int] = {}
        self.uids: list[str] = []
        self.node_names: list[str] = []
        self.node_index: dict[str, int] = {}
        self._node_residents: list[list[int]] = []
        self.placed: dict[int, tuple[int, ...]] = {}
        self.parts: dict[int, tuple[PodSet, ...]] = {}
        self.odd_requests: dict[int, Mapping[str, int]] = {}
        self.odd_usages: dict[int, Mapping[str, int]] = {}
        self.odd_nodes: dict[int, Node] = {}
        self.constraints: dict[int, Constraints] = {}
        self.admitted: dict[int, Ask] = {}
        self.labels = LabelSets()
        self.pending: set[int] = set()
        self.between = 0
        """How many are leaving for somebody, or have room held for them: those that overlap."""
        self.templates = RowTemplates()
        self._node_rank: Int64s | None = None

    # -- columns -----------------------------------------------------------------------------------------------

    @abstractmethod
    def write(self) -> None:
        """Every row in its columns is as it should be."""

    @property
    def work(self) -> WorkloadColumns:
        if self._unwritten:
            self.write()
        return self._work

    @work.setter
    def work(self, columns: WorkloadColumns) -> None:
        self._work = columns

    @property
    def nodes(self) -> NodeColumns:
        if self._unwritten:
            self.write()
        return self._nodes

    @property
    def residents(self) -> ResidentColumns:
        if self._unwritten:
            self.write()
        return self._residents

    @residents.setter
    def residents(self, columns: ResidentColumns) -> None:
        self._residents = columns

    @property
    def tree(self) -> QueueTree:
        if self._unwritten:
            self.write()
        return self._tree

    @property
    def derived(self) -> dict[str, Any]:
        """What was worked out of queues as they stand in the file, beside the tree: no row need be written for that."""
        return self._tree.derived

    @property
    def node_residents(self) -> list[list[int]]:
        if self._unwritten:
            self.write()
        return self._node_residents

    def is_ready(self, node: int) -> bool:
        """Whether the node takes work: no row need be written for that."""
        return bool(self._nodes.state[node] == READY)

    # -- questions ---------------------------------------------------------------------------------------------

    def member_vector(self, requests: Mapping[str, int], exclusive: bool) -> Int64s:
        """What one member takes of a node, as counts; all of the WHOLE column if it wants a node to itself."""
        row = self.units.vector(taken(requests))
        row[WHOLE] = FULL if exclusive else 1
        return row

    def settings_of(self, queue: int) -> Mapping[str, Any]:
        """The raw settings of this queue as the file gives them."""
        return self._tree.settings(queue)

    def node_rank(self) -> Int64s:
        """The place of each node row in the order of names; made anew only after a node joined."""
        if self._node_rank is None or len(self._node_rank) != self.nodes.size:
            rank = np.empty(self.nodes.size, np.int64)
            rank[sorted(range(self.nodes.size), key=self.node_names.__getitem__)] = np.arange(self.nodes.size)
            self._node_rank = rank
        return self._node_rank

    def residents_of(self, row: int) -> list[int]:
        """The resident rows of this workload, one a node it holds room on."""
        found: list[int] = []
        resident, sibling = int(self.work.resident[row]), self.residents.sibling
        while resident != NONE:
            found.append(resident)
            resident = int(sibling[resident])
        return found

    def nodes_of(self, row: int) -> list[str]:
        """The node of each member, in the order of the pod sets where there are any, else in name order."""
        if row in self.placed:
            return [self.node_names[node] for node in self.placed[row]]
        residents = self.residents
        return sorted(
            name
            for resident in self.residents_of(row)
            for name in [self.node_names[int(residents.node[resident])]] * int(residents.count[resident])
        )

    def members_of(self, row: int) -> list[Int64s]:
        """What each member takes of a node, in the order of the pod sets."""
        if row in self.parts:
            return self.vectors_of(self.parts[row], bool(self.work.exclusive[row]))
        return [self.work.need[:, row]] * int(self.work.members[row])

    def vectors_of(self, parts: Sequence[PodSet], exclusive: bool) -> list[Int64s]:
        """What each of these members takes of a node; the amounts are known."""
        found: list[Int64s] = []
        for part in parts:
            found += [self.member_vector(part.requests, exclusive)] * part.count
        return found
