"""Dominant resource shares, exact: what a queue borrows of what its cohort can lend, by weight.

Shares are only ever compared between children of one cohort. Those share a scale on which every share is a whole
number; a queue of weight zero that borrows is above every other, and among such the plain ratio decides.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import NamedTuple

from cede.doctrines.kueue.book import Book
from cede.doctrines.kueue.quota import Quotas
from cede.state.columns import NONE

PER_MILLE = 1000


Share = tuple[int, int]
"""Whether it is infinite, and the share on the scale of the node's siblings; compares like the share itself."""
ZERO: Share = (0, 0)


class _Part(NamedTuple):
    """One resource of a node: its pairs, what the cohort can lend of it, and the factor onto the siblings' scale."""

    resource: str
    pairs: tuple[int, ...]
    lendable: int
    factor: int


class Scales:
    """For every node with a parent, how its excess becomes a share; made as nodes are looked at."""

    def __init__(self, quotas: Quotas) -> None:
        self.quotas = quotas
        self.scale: dict[int, int] = {}
        self.known: dict[int, list[_Part]] = {}
        self.simple: dict[int, tuple[int, int]] = {}
        self.weighted = [weight != 0 for weight in quotas.weights]
        self._lendable: dict[int, dict[str, int]] = {}

    def parts(self, node: int) -> list[_Part]:
        found = self.known.get(node)
        if found is None:
            parent = self.quotas.parent[node]
            if parent == NONE:
                found = self.known[node] = []
            else:
                self._scale_children(parent)
                found = self.known[node]
        return found

    def lendable(self, cohort: int) -> dict[str, int]:
        """What the cohort could lend in all, by resource."""
        found = self._lendable.get(cohort)
        if found is None:
            found = self._lendable[cohort] = {}
            for pair, (resource, _) in enumerate(self.quotas.pairs):
                found[resource] = found.get(resource, 0) + self.quotas.potential[pair][cohort]
        return found

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
                whole = lendable[resource]
                factor = 0 if whole <= 0 else scale * PER_MILLE * weight.denominator // (whole * weight.numerator)
                parts.append(_Part(resource, tuple(pairs), whole, factor))
            self.known[child] = parts
            if len(parts) == 1 and len(parts[0].pairs) == 1:
                self.simple[child] = (parts[0].pairs[0], parts[0].factor)


def scales_of(quotas: Quotas) -> Scales:
    """The scales of these quotas, kept with them."""
    found = quotas.kept.get("scales")
    if not isinstance(found, Scales):
        found = quotas.kept["scales"] = Scales(quotas)
    return found


class Shares:
    """Shares of the nodes of one book, as it stands when asked."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.scales = scales_of(book.quotas)
        self._simple = self.scales.simple
        self._weighted = self.scales.weighted

    def share(self, node: int) -> Share:
        """The weighted share; zero for a root."""
        used, subtree = self.book.used, self.book.quotas.subtree
        one = self._simple.get(node)
        if one is not None:
            scaled = (used[one[0]][node] - subtree[one[0]][node]) * one[1]
        else:
            scaled = 0
            for _, pairs, _, factor in self.scales.parts(node):
                excess = 0
                for pair in pairs:
                    over = used[pair][node] - subtree[pair][node]
                    if over > 0:
                        excess += over
                if excess * factor > scaled:
                    scaled = excess * factor
        if scaled <= 0:
            return ZERO
        return (0 if self._weighted[node] else 1, scaled)

    def borrowing(self, node: int) -> bool:
        """Whether the node is above its quota in anything it declares; a root never is."""
        quotas, used = self.book.quotas, self.book.used
        if quotas.parent[node] == NONE:
            return False
        return any(used[pair][node] > quotas.subtree[pair][node] for pair in quotas.declared[node])

    def exact(self, node: int, share: Share) -> Fraction:
        """The share as a number, per mille; of a node of weight zero the plain ratio."""
        parent = self.book.quotas.parent[node]
        return Fraction(0) if parent == NONE else Fraction(share[1], self.scales.scale.get(parent, 1))

    def shown(self, node: int, share: Share) -> str:
        """The share for people, per mille of what the cohort can lend."""
        value = self.exact(node, share)
        text = f"{float(value):.1f}‰".replace(".0‰", "‰")
        return f"infinite (weight 0, {text})" if share[0] else text

    def dominant(self, node: int) -> str | None:
        """The resource that makes the share; equal ones by name."""
        best: tuple[int, str] | None = None
        used, subtree = self.book.used, self.book.quotas.subtree
        for resource, pairs, _, factor in sorted(self.scales.parts(node)):
            excess = sum(max(0, used[pair][node] - subtree[pair][node]) for pair in pairs)
            if excess * factor and (best is None or excess * factor > best[0]):
                best = (excess * factor, resource)
        return None if best is None else best[1]

    def rounded(self, node: int) -> int:
        """The share as Kueue reports it: rounded up; the largest integer for a borrower of weight zero."""
        share = self.share(node)
        if share[0]:
            return 2**63 - 1
        value = self.exact(node, share)
        return -(-value.numerator // value.denominator)
