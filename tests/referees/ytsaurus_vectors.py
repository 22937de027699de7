"""What the referee of YTsaurus says to the known cases: the vectors, and the facts of its own project's tests."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import isclose
from typing import Any

from tests.referees.ytsaurus_heartbeat import plan
from tests.referees.ytsaurus_integral import Volumes, update
from tests.referees.ytsaurus_settle import settle
from tests.referees.ytsaurus_shares import parts
from tests.referees.ytsaurus_states import groups, satisfaction
from tests.referees.ytsaurus_tree import Document, Element, Tree, Vector, trees

TOLERANCE = 2e-7
SECOND = 10**6


def complaints(vector: Document) -> list[str]:
    """What the referee decides otherwise than the case expects."""
    document, expect = {"workloads": []} | vector["cluster"], vector["expect"]
    found: list[str] = []
    if set(expect) - {"settle"}:
        answer = plan(document, seen=lambda tree: found.extend(_shares(tree, expect.get("shares", {}))))
        wanted = expect.get("victims", answer.reasons)
        if set(wanted) != set(answer.reasons):
            found.append(f"victims {sorted(answer.reasons)}")
        for name, allowed in expect.get("actions", {}).items():
            if answer.actions[name] not in ([allowed] if isinstance(allowed, str) else allowed):
                found.append(f"{name}: {answer.actions[name]}")
    if "settle" in expect:
        found += _settled(document, expect["settle"])
    return found


def _settled(document: Document, wanted: Document) -> Iterator[str]:
    end = settle(document, wanted["interval"], wanted["cycles"])
    for app, count in wanted.get("running_count", {}).items():
        if end.counts[app] != count:
            yield f"{end.counts[app]} of {app} run"
    yield from (f"{name} still runs" for name in wanted.get("gone", []) if name in end.running)
    yield from (f"{name} does not run" for name in wanted.get("alive", []) if name not in end.running)


def _shares(tree: Tree, wanted: Document) -> Iterator[str]:
    for kind, of in (("pool", "queues"), ("operation", "apps")):
        for element in tree.elements:
            expect = wanted.get(of, {}).get(element.name, {}) if element.kind == kind else {}
            yield from _element(tree, element, expect)
    for operation in tree.operations:
        for work, group in groups(tree, operation).items():
            if wanted.get("workloads", {}).get(work.name, group) != group:
                yield f"{work.name} is {group}"


def _element(tree: Tree, element: Element, expect: Document) -> Iterator[str]:
    for name, value in zip(tree.resources, element.share, strict=True):
        if not _same(value, expect.get("fair_share", {}).get(name, float(value))):
            yield f"{element.name} has {float(value)} of {name}"
    if not _same(satisfaction(tree, element), expect.get("satisfaction", float(satisfaction(tree, element)))):
        yield f"{element.name} is satisfied by {float(satisfaction(tree, element))}"
    for key, got in (("status", element.status), ("starvation", element.starvation)):
        if expect.get(key, got) != got:
            yield f"{element.name} is {got}"


def _same(value: Fraction, wanted: float) -> bool:
    return isclose(float(value), wanted, rel_tol=1e-6, abs_tol=1e-9)


def fact_complaints(fact: Document, documents: list[Document]) -> list[str]:
    """What the referee computes otherwise than a fact about shares, weights or volumes; one document an update."""
    found: list[str] = []
    volumes, steps = Volumes(), [one["elapsed_s"] for one in fact.get("updates", [fact])] if _timed(fact) else [0]
    made = [tree for document in documents for tree in trees(document)]
    for tree, step in zip(made, steps, strict=True):
        volumes = update(tree, volumes, int(step * SECOND))
    tree = made[-1]
    elements = {element.name: element for element in tree.elements}
    for key, called in VECTORS.items():
        for name, wanted in fact["expect"].get(key, {}).items():
            found += _vector(tree, fact, f"{key} of {name}", getattr(elements[name], called), wanted)
    for name, expect in fact["expect"].get("parts", {}).items():
        for key, wanted in expect.items():
            found += _vector(tree, fact, f"{key} of {name}", parts(elements[name])[key], wanted)
    for name, wanted in fact["expect"].get("weight", {}).items():
        if not _same(elements[name].weight, wanted):
            found.append(f"{name} weighs {float(elements[name].weight)}")
    for name, wanted in fact["expect"].get("volume", {}).items():
        saved = volumes.saved[name]
        found += [f"{name} saved {float(saved[key])} of {key}" for key in wanted if not _same(saved[key], wanted[key])]
    return found


def _vector(tree: Tree, fact: Document, what: str, vector: Vector, wanted: dict[str, Any]) -> Iterator[str]:
    for name, value in zip(tree.resources, vector, strict=True):
        if (
            name in fact.get("compare_resources", tree.resources)
            and abs(float(value) - wanted.get(name, 0)) > TOLERANCE
        ):
            yield f"{what}: {name} {float(value)}"


def _timed(fact: Document) -> bool:
    return "updates" in fact or "elapsed_s" in fact


VECTORS = {"fair_share": "share", "demand_share": "demand", "promised_guarantee_fair_share": "promised"}
"""What facts call a vector, and what it is called here."""
