"""What a vector expects of a plan or of a settled run, compared with what came out.

A vector is silent on what it does not name. `for` plans one workload alone.

    victims         exactly these over all decisions, each with its reason; null stands for any reason
    victims_any_of  exactly one of these sets
    not_victims     none of these
    actions         what is decided about a workload, or one of several
    nodes           where its members go: in the order of its pod sets if it has any, else in any order
    flavors         the flavor of some of its resources
    shares          part of what the doctrine computed before it decided, numbers up to rounding
    settle          who runs at the end: `alive`, `gone`, and how many of each app (`running_count`)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import isclose
from typing import Any

import cede

Json = dict[str, Any]


def complaints(vector: Json) -> list[str]:
    """One sentence for each expectation that does not hold, and for each law that the whole plan breaks."""
    expect = dict(vector["expect"])
    alone = expect.pop("for", None)
    run = expect.pop("settle", None)
    cluster = cede.load(vector["cluster"])
    whole = cede.plan(cluster, shares="shares" in expect)
    plan = whole if alone is None else cede.plan(cluster, only=alone, shares="shares" in expect)
    found = cede.verify(cluster, whole)
    for key, wanted in expect.items():
        found += CHECKS[key](vector["cluster"], plan, wanted)
    if run is not None:
        found += _settled(vector["cluster"], run)
    return found


def _victims(_: Json, plan: cede.Plan, wanted: dict[str, str | None]) -> Iterator[str]:
    chosen = [(victim.workload, victim.reason) for made in plan.decisions for victim in made.victims]
    if {name for name, _ in chosen} != set(wanted):
        yield f"victims are {sorted({name for name, _ in chosen})}, not {sorted(wanted)}"
    for name, reason in chosen:
        if wanted.get(name) not in (None, reason):
            yield f"{name} goes for {reason}, not for {wanted[name]}"


def _victims_any_of(_: Json, plan: cede.Plan, wanted: list[list[str]]) -> Iterator[str]:
    if plan.victims not in [set(names) for names in wanted]:
        yield f"victims are {sorted(plan.victims)}, none of {wanted}"


def _not_victims(_: Json, plan: cede.Plan, wanted: list[str]) -> Iterator[str]:
    yield from (f"{name} is a victim" for name in wanted if name in plan.victims)


def _actions(_: Json, plan: cede.Plan, wanted: dict[str, str | list[str]]) -> Iterator[str]:
    for name, allowed in wanted.items():
        made = _one(plan, name)
        if made.action not in ([allowed] if isinstance(allowed, str) else allowed):
            yield f"{name}: {made.action} ({made.why}), not {allowed}"


def _nodes(cluster: Json, plan: cede.Plan, wanted: dict[str, list[str]]) -> Iterator[str]:
    in_order = {workload["name"] for workload in cluster["workloads"] if "pod_sets" in workload}
    for name, nodes in wanted.items():
        got = list(_one(plan, name).nodes)
        if (got if name in in_order else sorted(got)) != (nodes if name in in_order else sorted(nodes)):
            yield f"{name} goes on {got}, not on {nodes}"


def _flavors(_: Json, plan: cede.Plan, wanted: dict[str, dict[str, str]]) -> Iterator[str]:
    for name, flavors in wanted.items():
        got = _one(plan, name).flavors
        if not flavors.items() <= got.items():
            yield f"{name} takes flavors {got}, not {flavors}"


def _shares(_: Json, plan: cede.Plan, wanted: Json) -> Iterator[str]:
    yield from _within("shares", wanted, plan.to_dict())


def _within(path: str, wanted: Any, got: Any) -> Iterator[str]:
    if isinstance(wanted, dict):
        for key, value in wanted.items():
            if not isinstance(got, dict) or key not in got:
                yield f"{path}.{key} is missing"
            else:
                yield from _within(f"{path}.{key}", value, got[key])
    elif isinstance(wanted, int | float) and not isinstance(wanted, bool):
        if not isclose(wanted, float(got), rel_tol=1e-6, abs_tol=1e-9):
            yield f"{path} is {got}, not {wanted}"
    elif got != wanted:
        yield f"{path} is {got}, not {wanted}"


def _settled(cluster: Json, wanted: Json) -> Iterator[str]:
    options = {key: wanted[key] for key in ("interval", "cycles") if key in wanted}
    end = cede.settle(cede.load(cluster), **options)
    apps = Counter(w.get("app", w["name"]) for w in cluster["workloads"] if w["name"] in end.running)
    yield from (f"{name} still runs" for name in wanted.get("gone", []) if name in end.running)
    yield from (f"{name} does not run" for name in wanted.get("alive", []) if name not in end.running)
    for app, count in wanted.get("running_count", {}).items():
        if apps[app] != count:
            yield f"{apps[app]} of {app} run, not {count}"


def _one(plan: cede.Plan, name: str) -> cede.Decision:
    [made] = [made for made in plan.decisions if made.workload == name]
    return made


CHECKS: dict[str, Callable[[Json, cede.Plan, Any], Iterator[str]]] = {
    "victims": _victims,
    "victims_any_of": _victims_any_of,
    "not_victims": _not_victims,
    "actions": _actions,
    "nodes": _nodes,
    "flavors": _flavors,
    "shares": _shares,
}
