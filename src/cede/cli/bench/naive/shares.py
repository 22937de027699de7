"""The dominant resource share of a node: its largest excess over its quota, as part of what could be lent to it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from cede.cli.bench.naive.quota import FlavorResource, Node

ZERO = Fraction(0)
ONE = Fraction(1)
LARGEST = 2**63 - 1


class Share(NamedTuple):
    """Thousandths of what can be lent, by weight; without weight it is infinite, and `size` goes without it.

    As a pair, `infinite` and `size` compare as shares do.
    """

    infinite: bool
    size: Fraction
    dominant: str | None
    borrowing: bool

    @property
    def key(self) -> tuple[bool, Fraction]:
        return self[:2]

    @property
    def rounded(self) -> int:
        return LARGEST if self.infinite else ceil(self.size)


NONE = Share(infinite=False, size=ZERO, dominant=None, borrowing=False)


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
    weight, size, dominant = node.weight or ONE, ZERO, None
    for resource in sorted(excess):
        if lendable[resource] > 0:
            part = Fraction(1000 * excess[resource] * weight.denominator, lendable[resource] * weight.numerator)
            if dominant is None or part > size:
                size, dominant = part, resource
    return Share(not node.weight and dominant is not None, size, dominant, borrowing=True)
