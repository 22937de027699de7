"""Plans of YTsaurus beside those of the referee, and the hunt for the smallest cluster on which they differ.

python -m tests.properties.ytsaurus_hunt 5000 [--first SEED] [--edition 25.4] [--trait limits ...]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import yaml

import cede
from tests.properties.ytsaurus_clusters import cluster
from tests.referees.ytsaurus_heartbeat import Answer, plan
from tests.referees.ytsaurus_settle import settle
from tests.referees.ytsaurus_states import groups, satisfaction
from tests.referees.ytsaurus_tree import Element, Tree, Vector

Document = dict[str, Any]
EDITIONS = ("docs", "25.4")
CLOSE = 1e-7
NEEDED = ("cede", "name", "edition", "doctrine", "capacity", "nodes", "workloads", "state", "requests", "queue", "app")
WHOLE = ("capacity", "requests")
"""Keys without which the smaller document would be another case, or no cluster at all."""


def differences(document: Document) -> list[str]:
    """Where the plan and the shares are not the referee's."""
    made = cede.plan(cede.load(deepcopy(document)), shares=True).to_dict()
    found: list[str] = []
    wanted = plan(document, seen=lambda tree: found.extend(share_differences(tree, made)))
    return [*found, *plan_differences(wanted, made["decisions"])]


def share_differences(tree: Tree, made: Document) -> Iterator[str]:
    """Shares, satisfaction, states and groups, before anything is decided."""
    for element in tree.elements:
        if element.kind != "root":
            kind = "queues" if element.kind == "pool" else "apps"
            yield from _element_differences(tree, element, f"{kind}.{element.name}", made[kind].get(element.name, {}))
    for operation in tree.operations:
        for work, group in groups(tree, operation).items():
            found = made["workloads"].get(work.name)
            if found != group:
                yield f"group of {work.name}: {found}, referee {group}"


def _element_differences(tree: Tree, element: Element, name: str, got: Document) -> Iterator[str]:
    vectors: dict[str, Vector] = {
        "fair_share": element.share,
        "usage_share": element.usage,
        "demand_share": element.demand,
    }
    for key, vector in vectors.items():
        found = got.get(key, {})
        for resource, value in zip(tree.resources, vector, strict=True):
            if abs(found.get(resource, 0) - float(value)) > CLOSE:
                yield f"{name} {key} {resource}: {found.get(resource)}, referee {float(value)}"
    wanted = float(satisfaction(tree, element))
    if abs(got.get("satisfaction", -1) - wanted) > CLOSE * max(1, wanted):
        yield f"{name} satisfaction: {got.get('satisfaction')}, referee {wanted}"
    for key, state in (("status", element.status), ("starvation", element.starvation)):
        if got.get(key) != state:
            yield f"{name} {key}: {got.get(key)}, referee {state}"
    if "weight" in got and abs(got["weight"] - float(element.weight)) > CLOSE:
        yield f"{name} weight: {got['weight']}, referee {float(element.weight)}"


def plan_differences(wanted: Answer, decisions: list[Document]) -> Iterator[str]:
    """Actions, nodes, victims with their reasons, and for whom they go."""
    actions = {one["workload"]: one["action"] for one in decisions if one["workload"] is not None}
    for name in sorted(actions.keys() | wanted.actions.keys()):
        if actions.get(name) != wanted.actions.get(name):
            yield f"{name}: {actions.get(name)}, referee {wanted.actions.get(name)}"
    nodes = {one["workload"]: sorted(set(one["nodes"])) for one in decisions if one["workload"] and one.get("nodes")}
    for name in sorted(nodes.keys() | wanted.nodes.keys()):
        expected = [wanted.nodes[name]] if name in wanted.nodes else None
        if nodes.get(name) != expected:
            yield f"{name} on {nodes.get(name)}, referee {expected}"
    victims = [(victim, one["workload"]) for one in decisions for victim in one.get("victims") or []]
    reasons = {victim["workload"]: (victim["reason"], claimant) for victim, claimant in victims}
    if len(reasons) != len(victims):
        yield f"a victim is taken twice: {[victim['workload'] for victim, _ in victims]}"
    for name in sorted(reasons.keys() | wanted.reasons.keys()):
        expected_reason = (wanted.reasons[name], wanted.claimants[name]) if name in wanted.reasons else None
        if reasons.get(name) != expected_reason:
            yield f"victim {name}: {reasons.get(name)}, referee {expected_reason}"


def settle_differences(document: Document, cycles: int = 8, interval: int = 4) -> list[str]:
    """Who is preempted in which cycle, and who runs in the end.

    How usage is averaged over time is not laid down, so weights that depend on it are left out.
    """
    document = deepcopy(document)
    for queue in document.get("queues", []):
        queue.get("settings", {}).pop("historic_usage_aggregation_period", None)
    made = cede.settle(cede.load(deepcopy(document)), cycles=cycles, interval=interval).to_dict()
    wanted = settle(document, interval, made["cycles"])
    got = {(one["at"], one["victim"], one["claimant"]) for one in made["preemptions"]}
    running = {name: sorted(nodes) for name, nodes in made["running"].items()}
    expected = {name: sorted(nodes) for name, nodes in wanted.running.items()}
    found = [f"settle: only here {one}" for one in sorted(got - set(wanted.preemptions), key=str)]
    found += [f"settle: referee {one}" for one in sorted(set(wanted.preemptions) - got, key=str)]
    if running != expected:
        found.append(f"settle: running {running}, referee {expected}")
    return found


# -- the hunt ----------------------------------------------------------------------------------------------------------


def smallest(document: Document, differs: Callable[[Document], bool], tries: int) -> Document:
    """A smaller document that still differs: entries and keys are left out one by one as long as it does."""
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(document):
            tries -= 1
            if tries < 0:
                return document
            if differs(smaller):
                document, changed = smaller, True
                break
    return document


def _smaller(document: Document) -> Iterator[Document]:
    for part in ("workloads", "apps", "queues", "nodes"):
        for index in range(len(document.get(part, []))):
            if part == "nodes" and len(document[part]) == 1:
                continue
            made = deepcopy(document)
            del made[part][index]
            yield made
    for path in _paths(document, ()):
        made = deepcopy(document)
        holder: Any = made
        for step in path[:-1]:
            holder = holder[step]
        del holder[path[-1]]
        yield made


def _paths(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Keys that may be left out."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _paths(inner, (*path, index))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in NEEDED:
                yield (*path, key)
            if key not in WHOLE:
                yield from _paths(inner, (*path, key))


def verdict(document: Document, compare: Callable[[Document], list[str]] = differences) -> str:
    """How a document that can be read differs: in shares, in the plan, or by a failure; empty if it does not."""
    try:
        cede.load(deepcopy(document))
    except Exception:  # where too much is left out, it is no cluster any more
        return ""
    try:
        found = compare(document)
    except Exception as error:  # a failure is a finding
        return type(error).__name__
    return found[0].split()[0].partition(".")[0] if found else ""


def told(document: Document, compare: Callable[[Document], list[str]] = differences, *, tries: int = 10_000) -> str:
    """The smallest document found that differs in the same way, and how; empty if this one does not differ."""
    kind = verdict(document, compare)
    if not kind:
        return ""
    small = smallest(document, lambda made: verdict(made, compare) == kind, tries)
    try:
        lines = compare(small)
    except Exception as error:  # a failure is a finding
        lines = [f"{kind}: {error}"]
    shown = yaml.safe_dump(small, sort_keys=False, default_flow_style=None, width=140)
    return "\n".join([str(shown), *(f"# {line}" for line in lines)])


def main(arguments: list[str] | None = None) -> int:
    """Decide many clusters; the first that differs is made small and printed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("many", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--edition", choices=EDITIONS)
    parser.add_argument("--trait", action="append")
    parser.add_argument("--settle", action="store_true", help="several cycles instead of one")
    parser.add_argument("--all", action="store_true", help="count all that differ instead of stopping at the first")
    given = parser.parse_args(arguments)
    compare = settle_differences if given.settle else differences
    counted, seeds = Counter[str](), []
    for seed in range(given.first, given.first + given.many):
        edition = given.edition or EDITIONS[seed % 2]
        document = cluster(seed, edition, given.trait)
        kind = verdict(document, compare)
        if not kind:
            continue
        seeds.append(seed)
        if given.all:
            counted[kind] += 1
            continue
        print(f"# seed {seed}, edition {edition}: {kind}")
        print(told(document, compare))
        return 1
    print(f"{given.many - len(seeds)} of {given.many} clusters are decided alike")
    if seeds:
        print("seeds that differ:", *seeds[:40], counted.most_common(20))
    return bool(seeds)


if __name__ == "__main__":
    sys.exit(main())
