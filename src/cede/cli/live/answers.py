"""Plans and differences made anew from what the API says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cede.model.certificate import certificate_of
from cede.model.plan import Candidate, Decision, Miss, Plan, Until, Victim, Warning

if TYPE_CHECKING:
    from cede.engine.diff import Difference

_OWN = ("doctrine", "edition", "now", "decisions", "lost_gpu_hours")


def plan_of(answer: Mapping[str, Any]) -> Plan:
    """The plan that `Plan.to_dict` wrote."""
    shares = {key: value for key, value in answer.items() if key not in _OWN}
    decisions = tuple(decision_of(one) for one in answer.get("decisions", ()))
    return Plan(answer["doctrine"], answer["edition"], answer["now"], decisions, shares=shares or None)


def decision_of(answer: Mapping[str, Any]) -> Decision:
    """The decision that `Decision.to_dict` wrote."""
    candidates = answer.get("candidates")
    return Decision(
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
        until=tuple(Until(**one) for one in answer.get("until", ())),
        certificate=None if (proof := answer.get("certificate")) is None else certificate_of(proof),
    )


def difference_of(answer: Mapping[str, Any]) -> Difference:
    """The difference that `Difference.to_dict` wrote."""
    from cede.engine.diff import Change, Difference, Eviction

    return Difference(
        before=plan_of(answer["before"]),
        after=plan_of(answer["after"]),
        evicted=tuple(Eviction(**one) for one in answer["evicted"]),
        spared=tuple(Eviction(**one) for one in answer["spared"]),
        displaced=tuple(answer["displaced"]),
        changes=tuple(Change(one["workload"], _side(one["before"]), _side(one["after"])) for one in answer["changes"]),
        unchanged=answer["unchanged"],
    )


def _side(answer: Mapping[str, Any]) -> Decision | str:
    return answer["state"] if "action" not in answer else decision_of(answer)
