"""A tree where what is preempting makes way for what is reserved: two plain trees, of which the fuller one counts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from bench.naive.quota import FlavorResource, Node, Tree, Workload


class Twofold(Node):
    """A node that uses what its fuller likeness does: one is in the tree of now, one in that of later."""

    likenesses: tuple[Node, ...] = ()

    def usage(self, fr: FlavorResource) -> int:
        return max(node.usage(fr) for node in self.likenesses)


class Overlapping(Tree):
    """Now nothing has left and nothing has come; later what is preempting has left, and what is reserved is there.

    Where nobody leaves, or nobody comes, one tree says it all.
    """

    def __init__(
        self, nodes: Callable[[type[Node]], list[Node]], reserved: Collection[str], leaving: Collection[str]
    ) -> None:
        super().__init__(nodes(Twofold))
        self.reserved = reserved
        self.trees = [Tree(nodes(Node)) for _ in range(2 if reserved and leaving else 1)]
        for name, node in self.nodes.items():
            assert isinstance(node, Twofold)
            node.likenesses = tuple(tree.nodes[name] for tree in self.trees)

    def _where(self, workload: Workload) -> list[Tree]:
        if len(self.trees) == 1:
            return self.trees
        now, later = self.trees
        trees = [] if workload.name in self.reserved else [now]
        return trees if workload.evicted else [*trees, later]

    def hold(self, workload: Workload) -> None:
        self.nodes[workload.queue].workloads[workload.name] = workload
        for tree in self._where(workload):
            tree.hold(workload)

    def release(self, workload: Workload) -> None:
        del self.nodes[workload.queue].workloads[workload.name]
        for tree in self._where(workload):
            tree.release(workload)

    def use(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for tree in self.trees:
            tree.use(tree.nodes[node.name], amounts)

    def unuse(self, node: Node, amounts: Mapping[FlavorResource, int]) -> None:
        for tree in self.trees:
            tree.unuse(tree.nodes[node.name], amounts)

    def recount(self) -> None:
        """What the workloads hold, and nothing else, is used."""
        workloads = [workload for node in self.nodes.values() for workload in node.workloads.values()]
        for node in self._everywhere():
            node.used, node.workloads = {}, {}
        for workload in workloads:
            self.hold(workload)

    @contextmanager
    def emptied(self) -> Iterator[None]:
        """The tree with nobody in it, for a while."""
        kept = [(node, node.used, node.workloads) for node in self._everywhere()]
        for node, _, _ in kept:
            node.used, node.workloads = {}, {}
        yield
        for node, used, workloads in kept:
            node.used, node.workloads = used, workloads

    def _everywhere(self) -> list[Node]:
        return [node for tree in (self, *self.trees) for node in tree.nodes.values()]
