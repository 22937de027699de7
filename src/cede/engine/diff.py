"""What changes between the plan as it is and the plan as it would be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cede.doctrines.parts.doctrine import EFFORT
from cede.engine.cluster import Cluster
from cede.engine.cycle import plan
from cede.model.plan import Decision, Plan
from cede.model.workloads import HOLDING

ABSENT = "absent"
"""In place of a state: the file has no such workload."""


@dataclass(frozen=True, slots=True)
class Change:
    """One workload that is decided otherwise; a side without a decision has the workload's state instead."""

    workload: str | None
    before: Decision | str
    after: Decision | str

    def to_dict(self) -> dict[str, Any]:
        return {"workload": self.workload, "before": _plain(self.before), "after": _plain(self.after)}

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Change:
        """The change that `to_dict` wrote."""
        before, after = (
            Decision.from_dict(side) if "action" in side else side["state"]
            for side in (answer["before"], answer["after"])
        )
        return cls(answer["workload"], before, after)


@dataclass(frozen=True, slots=True)
class Eviction:
    """A workload that gives way, and to whom."""

    workload: str
    claimant: str | None
    rule: str
    fate: str

    def to_dict(self) -> dict[str, Any]:
        return {"workload": self.workload, "claimant": self.claimant, "rule": self.rule, "fate": self.fate}


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs; `unchanged` counts equal decisions.

    `evicted` give way only with the changes, `spared` only without them; who is leaving already is neither.
    `displaced` ran before, and the changes themselves took their place: they wait now.
    """

    before: Plan
    after: Plan
    evicted: tuple[Eviction, ...]
    spared: tuple[Eviction, ...]
    displaced: tuple[str, ...]
    changes: tuple[Change, ...]
    unchanged: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "before": _origin(self.before),
            "after": _origin(self.after),
            "evicted": [eviction.to_dict() for eviction in self.evicted],
            "spared": [eviction.to_dict() for eviction in self.spared],
            "displaced": list(self.displaced),
            "changes": [change.to_dict() for change in self.changes],
            "unchanged": self.unchanged,
        }

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Difference:
        """The difference that `to_dict` wrote."""
        return cls(
            before=Plan.from_dict(answer["before"]),
            after=Plan.from_dict(answer["after"]),
            evicted=tuple(Eviction(**one) for one in answer["evicted"]),
            spared=tuple(Eviction(**one) for one in answer["spared"]),
            displaced=tuple(answer["displaced"]),
            changes=tuple(Change.from_dict(one) for one in answer["changes"]),
            unchanged=answer["unchanged"],
        )


def diff(
    before: Cluster,
    after: Cluster,
    *,
    certify: float | None = None,
    effort: int = EFFORT,
    kept: Mapping[str, Any] | None = None,
) -> Difference:
    """What one cycle decides otherwise on `after` than on `before`; each plan has half of the time to `certify` in."""
    half = None if certify is None else certify / 2
    old, new = (plan(cluster, misses=False, certify=half, effort=effort, kept=kept) for cluster in (before, after))
    held, holding = _states(before), _states(after)
    was, will = _evictions(old), _evictions(new)
    chosen = old.victims
    stays = {name for name, state in holding.items() if state in HOLDING} - new.victims
    changes, unchanged = _changes(old, held, new, holding)
    waiting = {decision.workload for decision in new.decisions if decision.action in ("wait", "refuse")}
    return Difference(
        before=old,
        after=new,
        evicted=tuple(eviction for name, eviction in will.items() if name not in chosen),
        spared=tuple(eviction for name, eviction in was.items() if name in stays),
        displaced=tuple(sorted(name for name, state in held.items() if state in HOLDING and name in waiting)),
        changes=tuple(changes),
        unchanged=unchanged,
    )


def _changes(old: Plan, held: dict[str, str], new: Plan, holding: dict[str, str]) -> tuple[list[Change], int]:
    same_rules = old.doctrine == new.doctrine
    was, will = _by_key(old), _by_key(new)
    changes: list[Change] = []
    unchanged = 0
    for key in [*will, *(key for key in was if key not in will)]:
        one, other = was.get(key), will.get(key)
        if one is not None and other is not None and _essence(one, same_rules) == _essence(other, same_rules):
            unchanged += 1
            continue
        name = key if isinstance(key, str) else None
        changes.append(Change(name, one or _state(held, name), other or _state(holding, name)))
    return changes, unchanged


def _by_key(made: Plan) -> dict[object, Decision]:
    """Decisions by workload; those that serve nobody by whom they evict."""
    return {d.workload or frozenset(victim.workload for victim in d.victims): d for d in made.decisions}


def _essence(made: Decision, same_rules: bool) -> tuple[object, ...]:
    """What must be equal for two decisions to be the same; the numbers in the sentence may differ."""
    return (
        made.action,
        {(victim.workload, victim.fate, victim.leaving) for victim in made.victims},
        place(made),
        made.rule if same_rules else made.rule.partition(".")[2],
    )


def place(made: Decision) -> tuple[object, ...]:
    """Where it goes; the order of its nodes is no part of that."""
    return Counter(made.nodes), made.flavors, made.counts


def _evictions(made: Plan) -> dict[str, Eviction]:
    return {eviction.workload: eviction for decision in made.decisions for eviction in evictions(decision)}


def evictions(made: Decision) -> Iterator[Eviction]:
    """Who gives way now, each by its own rule."""
    for victim in made.victims:
        if not victim.leaving:
            yield Eviction(victim.workload, made.workload, victim.rule or made.rule, victim.fate)


def _states(cluster: Cluster) -> dict[str, str]:
    return {workload.name: workload.state for workload in cluster.document.workloads}


def _state(states: dict[str, str], name: str | None) -> str:
    return ABSENT if name is None else states.get(name, ABSENT)


def _plain(side: Decision | str) -> object:
    return {"state": side} if isinstance(side, str) else side.to_dict()


def _origin(made: Plan) -> dict[str, Any]:
    return {"doctrine": made.doctrine, "edition": made.edition, "now": made.now}
