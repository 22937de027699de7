"""What a released scheduler answered on a cluster, and what Cede says of the same one.

A row is {"id", "kind", "cluster", "answers"}. `answers` are all that many runs of the released code gave, for it leaves
some ties to chance: Cede must give one of them. What an answer does not name is not compared. The kinds:

    one-ask, one-ask-beside-a-reservation    the decision of the workload that the answers name
    first-of-several-asks                    the first decision that starts or preempts somebody; without one, a wait
    one-pending                              the decision of the only pending workload, with reasons, flavors and counts
    whole-plan                               action and victims of every pending workload
    one-pod                                  what became of a pod: start, preempt, wait, or await, which is a nomination
                                             without new victims; who only loses a nomination is no victim

The released code knows no refusal: here a refusal is a wait.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cede

Json = dict[str, Any]


def rows_of(path: Path) -> Iterator[Json]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def agrees(row: Json, plan: cede.Plan) -> bool:
    """Whether the plan says what the released code said at least once."""
    said = answer_of(row, plan.to_dict()["decisions"])
    return any(all(said.get(key) == value for key, value in _sorted(answer).items()) for answer in row["answers"])


def answer_of(row: Json, decisions: list[Json]) -> Json:
    """The plan in the form of an answer to this row."""
    if row["kind"] == "whole-plan":
        asked = row["answers"][0]["decisions"]
        return {"decisions": {made["workload"]: _acts(made) for made in decisions if made["workload"] in asked}}
    if row["kind"] == "one-pod":
        return _of_a_pod(row, next(made for made in decisions if made["workload"] == row["answers"][0]["workload"]))
    if row["kind"] == "first-of-several-asks":
        made = next((made for made in decisions if made["action"] in ("start", "preempt")), None)
        if made is None:
            return {"workload": "", "action": "wait", "node": None, "victims": []}
    else:
        made = next(made for made in decisions if made["workload"] == row["answers"][0]["workload"])
    acts = _acts(made)
    flavors, counts = _by_pod_set(made, row["cluster"]) if acts["action"] != "wait" else ({}, {})
    return {
        **acts,
        "workload": made["workload"],
        "node": (made.get("nodes") or [None])[0] if acts["action"] == "preempt" else None,
        "reasons": {victim["workload"]: victim["reason"] for victim in made.get("victims", [])},
        "flavors": flavors,
        "counts": counts,
    }


def _of_a_pod(row: Json, made: Json) -> Json:
    nominated = {entry["name"] for entry in row["cluster"]["workloads"] if entry.get("state") == "reserved"}
    told = [one["workload"] for one in made.get("victims", []) if not one.get("leaving")]
    victims = sorted(name for name in told if name not in nominated)
    action = "wait" if made["action"] == "refuse" else made["action"]
    awaits = any(one.get("leaving") for one in made.get("victims", []))
    if action == "preempt" and not victims:
        action = "await" if awaits else "start"
    if made["rule"].endswith(".awaits-leaving"):
        action = "await"
    node = (made.get("nodes") or [None])[0]
    return {"workload": made["workload"], "action": action, "node": node, "victims": victims}


def _acts(made: Json) -> Json:
    action = "wait" if made["action"] == "refuse" else made["action"]
    return {"action": action, "victims": sorted(victim["workload"] for victim in made.get("victims", []))}


def _by_pod_set(made: Json, cluster: Json) -> tuple[Json, Json]:
    """Flavors and numbers of members by pod set; a workload without pod sets is one, called main."""
    entry = next(entry for entry in cluster["workloads"] if entry["name"] == made["workload"])
    parts = {part["name"]: part for part in entry.get("pod_sets", [])} or {"main": {"count": entry.get("members", 1)}}
    flavors, counts = made.get("flavors", {}), made.get("counts", {})
    differ = any(isinstance(flavor, dict) for flavor in flavors.values())
    requests = {name: part.get("requests") or entry.get("requests") or {} for name, part in parts.items()}
    return (
        {
            name: {k: v for k, v in (flavors.get(name, {}) if differ else flavors).items() if k in requests[name]}
            for name in parts
        },
        {name: counts.get(name, part["count"]) for name, part in parts.items()},
    )


def _sorted(answer: Json) -> Json:
    return {**answer, "victims": sorted(answer["victims"])} if "victims" in answer else answer
