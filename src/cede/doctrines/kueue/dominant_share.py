"""Dominant resource shares: what a queue borrows of what its cohort can lend, by weight.

Shares are only ever compared between children of one cohort. Kueue compares them as IEEE doubles, worked out in one
order: what is used above quota, times 1000, divided by what can be lent, divided by the weight. So do we, in the same
order and from the same integers; each step has one correct result, on every machine. Where that is asked for, shares
are exact instead: the children of a cohort share a scale on which every share is a whole number.

A queue of weight zero that borrows is above every other, and among such the plain ratio decides.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, lcm
from typing import NamedTuple

from cede.doctrines.kueue.quota import Quotas, kueue_unit
from cede.doctrines.kueue.usage import QuotaUsage
from cede.state.columns import NONE

PER_MILLE = 1000


Share = tuple[int, float]
"""Whether it is infinite, and the share: per mille, or where it is exact on the scale of the node's siblings.

Compares like the share itself.
"""
ZERO: Share = (0, 0)


class _Part(NamedTuple):
    """One resource of a node: its pairs, and what makes a share of the excess in them.

    As a double: `counts` of Kueue are in one of ours, and `lendable` is in its counts. Exactly: `factor` leads onto
    the siblings' scale.
    """

    resource: str
    pairs: tuple[int, ...]
    counts: int
    lendable: float
    factor: int


class Scales:
    """For every node with a parent, how its excess becomes a share; made as nodes are looked at."""

    def __init__(self, quotas: Quotas) -> None:
        self.quotas = quotas
        self.scale: dict[int, int] = {}
        self.known: dict[int, list[_Part]] = {}
        self.simple: dict[int, tuple[int, int, float, int]] = {}
        self.weights = [float(weight) for weight in quotas.weights]
        self._lendable: dict[int, dict[str, int]] = {}

    def parts(self, node: int) -> list[_Part]:
        parts = self.known.get(node)
        if parts is None:
            parent = self.quotas.parent[node]
            if parent == NONE:
                parts = self.known[node] = []
            else:
                self._scale_children(parent)
                parts = self.known[node]
        return parts

    def lendable(self, cohort: int) -> dict[str, int]:
        """What the cohort could lend in all, by resource."""
        lendable = self._lendable.get(cohort)
        if lendable is None:
            lendable = self._lendable[cohort] = {}
            for pair, (resource, _) in enumerate(self.quotas.pairs):
                lendable[resource] = self.quotas.added(
                    pair, lendable.get(resource, 0), self.quotas.potential[pair][cohort]
                )
        return lendable

    def _scale_children(self, cohort: int) -> None:
        quotas = self.quotas
        lendable = self.lendable(cohort)
        children = quotas.children[cohort]
        weights = {quotas.weights[child] or Fraction(1) for child in children}
        amounts = [amount for amount in lendable.values() if amount > 0]
        scale = self.scale[cohort] = lcm(*amounts) * lcm(*(weight.numerator for weight in weights))
        for child in children:
            weight = quotas.weights[child] or Fraction(1)
            by_resource: dict[str, list[int]] = {}
            for pair in quotas.declared[child]:
                by_resource.setdefault(quotas.pairs[pair][0], []).append(pair)
            parts = []
            for resource, pairs in by_resource.items():
                whole, counts = lendable[resource], quotas.nano[pairs[0]] // kueue_unit(resource)
                factor = 0 if whole <= 0 else scale * PER_MILLE * weight.denominator // (whole * weight.numerator)
                parts.append(_Part(resource, tuple(pairs), counts, float(max(0, whole) * counts), factor))
            self.known[child] = parts
            if len(parts) == 1 and len(parts[0].pairs) == 1 and parts[0].lendable:
                self.simple[child] = (parts[0].pairs[0], *parts[0][2:])


def scales_of(quotas: Quotas) -> Scales:
    """The scales of these quotas, kept with them."""
    scales = quotas.kept.get("scales")
    if not isinstance(scales, Scales):
        scales = quotas.kept["scales"] = Scales(quotas)
    return scales


class RoundingCheck:
    """Doubles that were compared as shares, with the exact ones they stand for, cohort by cohort."""

    def __init__(self) -> None:
        self._seen: dict[int, dict[Share, Share]] = {}
        self._clash = False

    def clear(self) -> None:
        self._seen.clear()
        self._clash = False

    def note(self, cohort: int, share: Share, exact: Share) -> None:
        """A share of a child of this cohort may be compared with those of its siblings."""
        seen = self._seen.get(cohort)
        if seen is None:
            seen = self._seen[cohort] = {}
        if seen.setdefault(share, exact) != exact:
            self._clash = True

    def any(self) -> bool:
        """Whether any two shares of one cohort do not compare like the exact ones."""
        orders = (sorted(seen.items()) for seen in self._seen.values())
        return self._clash or any(one[1] >= other[1] for order in orders for one, other in pairwise(order))


class Shares:
    """Shares of the nodes at one state of usage, as it stands when asked: doubles, or `exact` ones.

    With `rounding_check`, what doubles stand for is noted there.
    """

    def __init__(
        self, quota_usage: QuotaUsage, *, exact: bool = False, rounding_check: RoundingCheck | None = None
    ) -> None:
        self.quota_usage = quota_usage
        self.scales = scales_of(quota_usage.quotas)
        self._exact = exact
        self._rounding_check = rounding_check
        self._simple = self.scales.simple
        self._weights = self.scales.weights

    def share(self, node: int) -> Share:
        """The weighted share; zero for a root."""
        if self._exact:
            return self.exact_share(node)
        used, subtree = self.quota_usage.used, self.quota_usage.quotas.subtree
        one, ratio = self._simple.get(node), 0.0
        if one is not None:
            over = used[one[0]][node] - subtree[one[0]][node]
            if over <= 0:
                return ZERO
            ratio = float(over * one[1]) * 1000.0 / one[2]
        else:
            for part in self.scales.parts(node):
                excess = self._excess(node, part)
                if excess and part.lendable:
                    ratio = max(ratio, float(excess * part.counts) * 1000.0 / part.lendable)
            if not ratio:
                return ZERO
        weight = self._weights[node]
        share: Share = (0, ratio / weight) if weight else (1, ratio)
        if self._rounding_check is not None:
            self._rounding_check.note(self.quota_usage.quotas.parent[node], share, self.exact_share(node))
        return share

    def exact_share(self, node: int) -> Share:
        """The same on the scale of the node's siblings, whole and exact."""
        one, scaled = self._simple.get(node), 0
        if one is not None:
            scaled = (self.quota_usage.used[one[0]][node] - self.quota_usage.quotas.subtree[one[0]][node]) * one[3]
        else:
            for part in self.scales.parts(node):
                scaled = max(scaled, self._excess(node, part) * part.factor)
        return (0 if self._weights[node] else 1, scaled) if scaled > 0 else ZERO

    def _excess(self, node: int, part: _Part) -> int:
        """What the node uses of a resource above its quota, flavor by flavor."""
        used, subtree, excess = self.quota_usage.used, self.quota_usage.quotas.subtree, 0
        for pair in part.pairs:
            over = used[pair][node] - subtree[pair][node]
            if over > 0:
                excess += over
        return excess

    def borrowing(self, node: int) -> bool:
        """Whether the node is above its quota in anything it declares; a root never is."""
        quotas, used = self.quota_usage.quotas, self.quota_usage.used
        if quotas.parent[node] == NONE:
            return False
        return any(used[pair][node] > quotas.subtree[pair][node] for pair in quotas.declared[node])

    def per_mille(self, node: int, share: Share) -> float:
        """The share as a number, per mille; of a node of weight zero the plain ratio."""
        if not self._exact or not share[1]:
            return share[1]
        return float(Fraction(int(share[1]), self.scales.scale[self.quota_usage.quotas.parent[node]]))

    def shown(self, node: int, share: Share) -> str:
        """The share for people, per mille of what the cohort can lend."""
        text = f"{self.per_mille(node, share):.1f}‰".replace(".0‰", "‰")
        return f"infinite (weight 0, {text})" if share[0] else text

    def dominant(self, node: int) -> str | None:
        """The resource that makes the share; equal ones by name."""
        best: tuple[float, str] | None = None
        for part in sorted(self.scales.parts(node)):
            excess = self._excess(node, part)
            ratio = float(excess * part.counts) * 1000.0 / part.lendable if part.lendable else 0.0
            if ratio and (best is None or ratio > best[0]):
                best = (ratio, part.resource)
        return None if best is None else best[1]

    def rounded(self, node: int) -> int:
        """The share as Kueue reports it: rounded up; the largest integer for a borrower of weight zero."""
        share = self.share(node)
        return 2**63 - 1 if share[0] else ceil(self.per_mille(node, share))
