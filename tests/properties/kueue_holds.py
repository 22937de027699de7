"""Kueue clusters where some wait for the room held for them, and others are on their way out of it."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.properties.kueue_clusters import Dice, Document, kueue_clusters
from tests.properties.kueue_duels import kueue_duels

STATES = ("running", "running", "running", "preempting", "preempting", "reserved", "reserved")


@st.composite
def kueue_holds(draw: DrawFn, *, preemption: str | None = None) -> Document:
    """Clusters and duels, with the states of what holds quota drawn anew."""
    source = kueue_clusters if draw(st.booleans()) else kueue_duels
    document = draw(source(preemption=preemption))
    holding = [
        entry for entry in document["workloads"] if entry.get("state", "pending") not in ("pending", "suspended")
    ]
    states = Dice(draw).pick(*[STATES] * len(holding)) if holding else ()
    for workload, state in zip(holding, states, strict=True):
        workload["state"] = state
    return document
