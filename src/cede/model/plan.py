"""What one scheduling cycle decides, and where a run of cycles ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from cede.model.certificate import Certificate
from cede.model.value_class import value

ACTIONS = ("start", "preempt", "wait", "refuse")
VERDICTS = ("victim", "protected", "not-needed", "not-eligible")

CONDITIONS = ("time", "candidate", "room", "quota", "share", "turn")
"""What could end a wait, the nearest first: a time that is known and comes by itself, named work that ends or loses its
protection, room on nodes, quota of a queue, a share that crosses a threshold, those ahead in line."""

REQUEUED = "requeued"
ENDED = "ended"


@value
class Victim:
    """A workload that is preempted; `fate` says whether it queues again or ends.

    `leaving`: it is being preempted already, so that this is no second eviction. `rule` is the rule by which this one
    goes, where that need not be the decision's. `cost` is what its going costs in minutes, `lost_gpu_hours` what is
    thrown away; none where it is not known. `saving` says how long a live one is expected to take to save its
    work, and how that is known.
    """

    workload: str
    reason: str
    fate: str = REQUEUED
    leaving: bool = False
    rule: str = ""
    cost: float | None = None
    lost_gpu_hours: float | None = None
    saving: str = ""

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"workload": self.workload, "reason": self.reason, "fate": self.fate}
        if self.cost is not None:
            result |= {"cost": self.cost, "lost_gpu_hours": self.lost_gpu_hours}
        if self.saving:
            result["saving"] = self.saving
        return result | {"leaving": True} if self.leaving else result


@value
class Candidate:
    """A workload that was looked at, and why it was or was not taken."""

    workload: str
    verdict: str
    rule: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        return {"workload": self.workload, "verdict": self.verdict, "rule": self.rule, "why": self.why}


@value
class Miss:
    """A member of the nearest miss; `rule` is None for one that no rule protects."""

    workload: str
    rule: str | None
    why: str

    def to_dict(self) -> dict[str, Any]:
        return {"workload": self.workload, "rule": self.rule, "why": self.why}


@value
class Warning:
    """A promise of the doctrine's own document that this decision breaks."""

    rule: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "why": self.why}


@value
class Until:
    """Something that could end a wait. `kind` is one of `CONDITIONS`; `at` is when it does, if time alone does."""

    kind: str
    why: str
    at: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "why": self.why} | ({"at": self.at} if self.at else {})


@value
class Decision:
    """What becomes of one pending workload, or, with `workload` None, an eviction that serves no workload."""

    workload: str | None
    action: str
    rule: str
    why: str
    victims: tuple[Victim, ...] = ()
    nodes: tuple[str, ...] = ()
    flavors: dict[str, Any] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    warnings: tuple[Warning, ...] = ()
    nearest_miss: tuple[Miss, ...] = ()
    candidates: tuple[Candidate, ...] | None = None
    account: dict[str, Any] | None = None
    """What an explanation adds to the candidates, in the doctrine's own words: single values, and lists of rows."""
    certificate: Certificate | None = None
    """How near its victims are to the best there are; only if it was asked for."""
    until: tuple[Until, ...] = ()
    """What could end its wait, the nearest first; only if an explanation was asked for."""

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {"workload": self.workload, "action": self.action}
        if self.victims:
            result["victims"] = [victim.to_dict() for victim in self.victims]
        if self.nodes:
            result["nodes"] = list(self.nodes)
        if self.flavors:
            result["flavors"] = self.flavors
        if self.counts:
            result["counts"] = self.counts
        result |= {"rule": self.rule, "why": self.why}
        if self.warnings:
            result["warnings"] = [warning.to_dict() for warning in self.warnings]
        if self.nearest_miss:
            result["nearest_miss"] = [miss.to_dict() for miss in self.nearest_miss]
        if self.until:
            result["until"] = [condition.to_dict() for condition in self.until]
        if self.candidates is not None:
            result["candidates"] = [candidate.to_dict() for candidate in self.candidates]
        if self.account is not None:
            result["account"] = self.account
        if self.certificate is not None:
            result["certificate"] = self.certificate.to_dict()
        return result

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Decision:
        """The decision that `to_dict` wrote."""
        candidates, certificate = answer.get("candidates"), answer.get("certificate")
        return cls(
            answer["workload"],
            answer["action"],
            answer["rule"],
            answer["why"],
            victims=tuple(Victim(**one) for one in answer.get("victims", ())),
            nodes=tuple(answer.get("nodes", ())),
            flavors=answer.get("flavors", {}),
            counts=answer.get("counts", {}),
            warnings=tuple(Warning(**one) for one in answer.get("warnings", ())),
            nearest_miss=tuple(Miss(**one) for one in answer.get("nearest_miss", ())),
            candidates=None if candidates is None else tuple(Candidate(**one) for one in candidates),
            account=answer.get("account"),
            certificate=None if certificate is None else Certificate.from_dict(certificate),
            until=tuple(Until(**one) for one in answer.get("until", ())),
        )


@value
class Plan:
    """One cycle's decisions: a proposal, made from the state version it names."""

    doctrine: str
    edition: str
    now: int | float | str
    decisions: tuple[Decision, ...]
    version: int = 0
    wakes_at: int | None = None
    shares: dict[str, dict[str, Any]] | None = None
    again: bool = False
    """Whether another plan may decide otherwise once this one is carried out, though nothing else happens."""

    @property
    def victims(self) -> set[str]:
        return {victim.workload for decision in self.decisions for victim in decision.victims}

    @property
    def lost_gpu_hours(self) -> float | None:
        """What all its victims throw away together; none where there are none, or it is not known."""
        lost = [victim.lost_gpu_hours for decision in self.decisions for victim in decision.victims]
        known = [hours for hours in lost if hours is not None]
        return round(sum(known), 6) if known else None

    def of(self, workload: str) -> Decision | None:
        """The decision about this workload, if there is one."""
        return next((decision for decision in self.decisions if decision.workload == workload), None)

    def to_dict(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "doctrine": self.doctrine,
            "edition": self.edition,
            "now": self.now,
            "decisions": [decision.to_dict() for decision in self.decisions],
        }
        if (lost := self.lost_gpu_hours) is not None:
            result["lost_gpu_hours"] = lost
        return result | (self.shares or {})

    @classmethod
    def from_dict(cls, answer: Mapping[str, Any]) -> Plan:
        """The plan that `to_dict` wrote; what is no part of a plan itself are its shares."""
        own = ("doctrine", "edition", "now", "decisions", "lost_gpu_hours")
        shares = {key: value for key, value in answer.items() if key not in own}
        decisions = tuple(Decision.from_dict(one) for one in answer.get("decisions", ()))
        return cls(answer["doctrine"], answer["edition"], answer["now"], decisions, shares=shares or None)


@value
class Preemption:
    """One eviction of a settled run; `at` counts cycles from 1."""

    at: int
    victim: str
    claimant: str | None
    rule: str

    def to_dict(self) -> dict[str, Any]:
        return {"at": self.at, "victim": self.victim, "claimant": self.claimant, "rule": self.rule}


@value
class Settled:
    """Where a run of cycles ended, or the loop that keeps it from ending."""

    settled: bool
    cycles: int
    preemptions: tuple[Preemption, ...]
    running: dict[str, list[str]]
    pending: dict[str, str]
    loop: tuple[Preemption, ...] | None
    ended: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "settled": self.settled,
            "cycles": self.cycles,
            "preemptions": [preemption.to_dict() for preemption in self.preemptions],
            "running": self.running,
            "pending": self.pending,
            "ended": list(self.ended),
            "loop": None if self.loop is None else [preemption.to_dict() for preemption in self.loop],
        }
