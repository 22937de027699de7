"""How much a queue above its max gives back, how that is split below it, and who goes for it: arithmetic alone.

As release 1.9 does it. Types are whatever the caller counts in; amounts are whole numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

from cede.doctrines.yunikorn.vectors import Vector, covers, fits, within

T = TypeVar("T", bound=Hashable)
Q = TypeVar("Q", bound=Hashable)
Grain = Callable[[T], int]
"""Of a type, the amount that YuniKorn counts as 1: it splits nothing finer."""

ORIGINATOR = 1 << 33
OPTED_OUT = 1 << 34
PERCENT = 100


@dataclass(frozen=True, slots=True)
class Held(Generic[T]):
    """An allocation of a leaf: what it holds, and what it is sorted by. `hour` is when it was made, in whole hours."""

    amounts: Mapping[T, int]
    priority: int = 0
    hour: int = 0
    originator: bool = False
    opted_out: bool = False


def above(limit: Mapping[T, int], used: Mapping[T, int]) -> dict[T, int]:
    """What is used beyond the limit, of the types in which it is exceeded."""
    return {kind: used[kind] - most for kind, most in limit.items() if kind in used and used[kind] > most}


def amount_of(
    limit: Vector[T], used: Mapping[T, int], path: Iterable[tuple[Vector[T], Mapping[T, int]]]
) -> dict[T, int]:
    """What the queue has to give back; `path` has guarantee and usage of it and of all above it.

    No more than the largest excess over a guarantee on the path: a type that nobody guarantees, or that is within
    the guarantee everywhere, is not capped.
    """
    if not limit or not used:
        return {}
    caps: dict[T, int] = {}
    for guaranteed, held in path:
        for kind, excess in above(guaranteed or {}, held).items():
            caps[kind] = max(excess, caps.get(kind, 0))
    return {kind: min(excess, caps.get(kind, excess)) for kind, excess in above(limit, used).items()}


def excess_of(guaranteed: Vector[T], used: Mapping[T, int]) -> dict[T, int] | None:
    """A child's part in the split: how far it is from its guarantee in each type of that, to whichever side; all it
    uses where it has none. None if it uses nothing or is within its guarantee.
    """
    if not used or (guaranteed and covers(guaranteed, used, equal=True)):
        return None
    if not guaranteed:
        return dict(used)
    return {kind: abs(amount - used.get(kind, 0)) for kind, amount in guaranteed.items()}


def split(amount: Mapping[T, int], excess: Mapping[Q, Mapping[T, int]], grain: Grain[T]) -> dict[Q, dict[T, int]]:
    """The amount over the children by their excess, rounded down; types that a child has no part in are not named."""
    total: dict[T, int] = {}
    for part in excess.values():
        for kind, much in part.items():
            total[kind] = total.get(kind, 0) + much
    return {
        child: {
            kind: much * amount[kind] // (total[kind] * grain(kind)) * grain(kind) if much else 0
            for kind, much in part.items()
            if kind in amount
        }
        for child, part in excess.items()
    }


def score(held: Held[T], amount: Mapping[T, int]) -> int:
    """Higher goes first: per cent of its types that are given back, and before that who should have been spared."""
    matching = sum(kind in amount for kind in held.amounts)
    share = PERCENT * matching // len(held.amounts) if held.amounts else 0
    return share + ORIGINATOR * held.originator + OPTED_OUT * held.opted_out


def in_order(candidates: Sequence[Held[T]], amount: Mapping[T, int], limit: Vector[T], grain: Grain[T]) -> list[int]:
    """The turn of these candidates, as positions; of equals the later one goes first.

    Higher score, lower priority, younger hour, and smaller share of the leaf's own limit over the amount's types, the
    largest share compared first. A type that the limit does not name is compared by its plain number.
    """

    def key(at: int) -> tuple[int, int, int, list[Fraction]]:
        held = candidates[at]
        shares = [Fraction(held.amounts.get(kind, 0), (limit or {}).get(kind) or grain(kind)) for kind in amount]
        return -score(held, amount), held.priority, -held.hour, sorted(shares, reverse=True)

    return sorted(range(len(candidates) - 1, -1, -1), key=key)


def chosen(candidates: Sequence[Held[T]], turn: Iterable[int], amount: Mapping[T, int]) -> list[int]:
    """Of the candidates, in their turn, those that go: each that fits what is still to be given back."""
    found: list[int] = []
    total: dict[T, int] = {}
    for at in turn:
        held = candidates[at].amounts
        if not fits({kind: amount.get(kind, much) for kind, much in held.items()}, held):
            continue
        sums = {kind: total.get(kind, 0) + held.get(kind, 0) for kind in total.keys() | held.keys()}
        if within(amount, sums):
            found.append(at)
            total = sums
    return found
