import hashlib
import json
import zlib
from collections.abc import Sequence

import pytest

import cede
from cede.engine.drive.facts import Began, Cancel, Exited, Fact, Heard, Submit
from cede.engine.drive.step import Transition
from cede.live.store import store as module
from cede.live.store.store import AuditRequest, DecisionRecord, Event, Store
from cede.model.lifecycle import Phase, Signal
from tests.live.store.entries import START, cluster, job, made, stepped, submitted


def move(name: str, signal: Signal, before: Phase, after: Phase) -> Transition:
    return Transition(START, name, 1, signal, before, after, rule="a.rule", why="for \ud800 a \0 reason", by="ann")


def of(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.transition.name, str(event.transition.signal)) for event in events]


@pytest.fixture
def busy(store: Store) -> Store:
    """One that preempts another, and a third that looks on."""
    submitted(store, job("low", project="x"), owner="ann")
    submitted(store, job("high"), job("other"), owner="bob")
    start = move("low", Signal.START, Phase.PENDING, Phase.STARTING)
    stepped(
        store, changed=[job("low", phase=Phase.STARTING, project="x")], transitions=[start], decisions=[made(1, "low")]
    )
    hold = move("high", Signal.HOLD, Phase.PENDING, Phase.HELD)
    evict = move("low", Signal.EVICT, Phase.STARTING, Phase.PREEMPTING)
    stepped(
        store,
        transitions=[hold, evict],
        decisions=[made(2, "high", "low"), made(3, "other")],
        settings_hash="5" * 64,
        cluster_hash="c" * 64,
        cluster=b"packed",
    )
    return store


def test_events_come_in_order_and_page_by_number(busy: Store) -> None:
    everything = busy.events()

    assert of(everything) == [
        ("low", "submit"),
        ("high", "submit"),
        ("other", "submit"),
        ("low", "start"),
        ("high", "hold"),
        ("low", "evict"),
    ]
    assert busy.events(after=everything[1].sequence, limit=2) == everything[2:4]
    assert busy.last_event() == everything[-1].sequence
    assert everything[-1].transition == move("low", Signal.EVICT, Phase.STARTING, Phase.PREEMPTING)


def test_events_of_one_and_for_one(busy: Store) -> None:
    assert of(busy.events(name="low")) == [("low", "submit"), ("low", "start"), ("low", "evict")]
    assert of(busy.events(visible_to=("bob", ()))) == [("high", "submit"), ("other", "submit"), ("high", "hold")]
    assert len(busy.events(visible_to=("bob", ("x",)))) == 6
    assert busy.events(name="low", visible_to=("bob", ())) == ()


def test_events_of_a_version_are_those_of_its_step(busy: Store) -> None:
    assert of(busy.events_of(4)) == [("high", "hold"), ("low", "evict")]
    assert busy.events_of(9) == ()


def test_a_decision_is_found_by_its_claimant_and_by_its_victim(busy: Store) -> None:
    assert [one.number for one in busy.decisions()] == [1, 2, 3]
    assert [one.number for one in busy.decisions(workload="low")] == [1, 2]
    assert [one.number for one in busy.decisions(workload="high")] == [2]
    assert [one.number for one in busy.decisions(after=1, limit=1)] == [2]


def test_a_decision_record_says_what_it_was_made_from(busy: Store) -> None:
    one = made(2, "high", "low")

    assert busy.decision(2) == DecisionRecord(
        number=2,
        at=START,
        claimant="high",
        action="preempt",
        victims=("low",),
        rule="backendai.lower",
        why="it fits",
        decision=one.decision,
        doctrine="backendai",
        edition="bep-1014",
        settings_hash="5" * 64,
        cluster_hash="c" * 64,
        version=4,
    )
    assert busy.decision(9) is None


def test_a_cluster_file_is_kept_once(busy: Store) -> None:
    stepped(busy, decisions=[made(4, "other")], cluster_hash="c" * 64, cluster=b"packed")
    stepped(busy, decisions=[made(5, "other")], cluster_hash="d" * 64)

    assert busy.cluster("c" * 64) == b"packed"
    assert busy.cluster("d" * 64) is None


def test_a_decision_that_carries_its_moment_can_be_planned_again(busy: Store) -> None:
    moment = cluster("n1", workloads=[{"name": "w", "queue": "q", "requests": {"cpu": 1}}])
    stepped(busy, decisions=[made(4, "high", "low", moment=moment), made(5, "other", moment=moment), made(6, "low")])

    first, second, third = busy.decisions(after=3)
    assert first.cluster_hash == second.cluster_hash != third.cluster_hash == ""
    kept = busy.cluster(first.cluster_hash)
    assert kept is not None
    text = zlib.decompress(kept)
    assert hashlib.sha256(text).hexdigest() == first.cluster_hash
    assert cede.load(json.loads(text)).document == moment


def test_a_story_tells_decisions_before_what_came_of_them(busy: Store) -> None:
    story = busy.story("low")

    told = [one.number if isinstance(one, DecisionRecord) else str(one.transition.signal) for one in story.told]
    assert told == ["submit", 1, "start", 2, "evict"]
    assert story.record == busy.workload("low")


def test_the_story_of_nobody_is_empty(busy: Store) -> None:
    assert busy.story("nobody").told == ()
    assert busy.story("nobody").record is None


def test_an_eviction_that_serves_nobody_is_found_by_its_victim(busy: Store) -> None:
    stepped(busy, decisions=[made(4, None, "low", "low")])

    assert [one.number for one in busy.decisions(workload="low")] == [1, 2, 4]
    record = busy.decision(4)
    assert record is not None
    assert record.claimant is None


def test_the_audit_trail_has_what_became_a_fact_and_what_did_not(store: Store) -> None:
    submitted(store, job("a"), audit=[AuditRequest(0, "ann", "user", "submit", "a", "from 127.0.0.1")])
    no = AuditRequest(0, "bob", "user", "cancel", "a", allowed=False, rule="api.not-yours")
    store.note_audit(no, START + 1)
    odd = AuditRequest(0, "ann", "viewer", "submit", "\ud800/../\0", allowed=False, rule="api.name")
    store.note_audit(odd, START + 2)

    first, second, third = store.audit()
    assert (first.by, first.what, first.about, first.detail) == ("ann", "submit", "a", "from 127.0.0.1")
    assert (first.at, first.allowed, first.version) == (START, True, 1)
    assert (second.allowed, second.rule, second.version) == (False, "api.not-yours", None)
    assert store.audit(by="ann") == (first, third)
    assert store.audit(about="a") == (first, second)
    assert store.audit(about="\ud800/../\0") == (third,)
    assert store.audit(after=first.sequence, limit=1) == (second,)


def test_steps_are_recorded_in_order_with_all_they_were_fed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEPS_AT_ONCE", 2)
    fed: list[tuple[int, list[Fact]]] = [
        (START, [Submit(job("a").workload, job("a").terms)]),
        (START + 1, []),
        (START + 2, [Began("a", 1), Heard("a", 1, 2, 0.25)]),
        (START + 3, [Exited("a", 1, signal=9, told=True, error="no \ud800"), Cancel("a", "ann")]),
        (START + 4, []),
    ]
    submitted(store, job("a"))
    for at, facts in fed[1:]:
        stepped(store, *facts, at=at)

    assert list(store.steps()) == fed


def test_numbers_and_names_that_no_database_can_hold_find_nothing(busy: Store) -> None:
    assert busy.events(after=10**30, limit=10**30) == ()
    assert busy.decisions(after=10**30) == ()
    assert busy.audit(after=10**30) == ()
    assert busy.decision(10**30) is busy.decision(-(10**30)) is None
    assert busy.cluster("\ud800") is None
    assert busy.token("\ud800") is None
    assert busy.revoke(10**30) == 0
