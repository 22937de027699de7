"""The dominant resource share of a node: its largest excess over its quota, as part of what could be lent to it.

Shares are doubles, each step of theirs rounded as Kueue's own are.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from bench.naive.quota import FlavorResource, Node

LARGEST = 2**63 - 1


class Share(NamedTuple):
    """Thousandths of what can be lent, by weight; without weight it is infinite, and `size` goes without it.

    As a pair, `infinite` and `size` compare as shares do.
    """

    infinite: bool
    size: float
    dominant: str | None
    borrowing: bool

    @property
    def key(self) -> tuple[bool, float]:
        return self[:2]

    @property
    def rounded(self) -> int:
        return LARGEST if self.infinite else ceil(self.size)


NONE = Share(infinite=False, size=0.0, dominant=None, borrowing=False)


def share_of(node: Node, extra: Mapping[FlavorResource, int] | None = None) -> Share:
    """The share of the node as it stands, or with `extra` used on top; 0 for a root."""
    if node.parent is None:
        return NONE
    excess: dict[str, int] = {}
    for fr, quota in node.subtree.items():
        above = node.usage(fr) - quota
        if extra:
            above += extra.get(fr, 0)
        if above > 0:
            excess[fr[1]] = excess.get(fr[1], 0) + above
    if not excess:
        return NONE
    lendable = dict.fromkeys(excess, 0)
    for fr in node.root().subtree:
        if fr[1] in lendable:
            lendable[fr[1]] += node.parent.potential(fr)
    ratio, dominant = 0.0, None
    for resource in sorted(excess):
        if lendable[resource] > 0:
            part = float(excess[resource]) * 1000.0 / float(lendable[resource])
            if dominant is None or part > ratio:
                ratio, dominant = part, resource
    size = ratio / float(node.weight) if node.weight else ratio
    return Share(not node.weight and dominant is not None, size, dominant, borrowing=True)
