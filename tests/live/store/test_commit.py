import pytest

from cede.engine.drive.facts import Cancel, PutNode, PutQueue, SetNode, Submit
from cede.engine.drive.step import Refusal, Step, Transition
from cede.live.store.store import AuditRequest, Entry, StaleError, Store, StoreError, TakenError
from cede.model.cluster import Node, Queue
from cede.model.lifecycle import Phase, Signal
from tests.live.store.entries import START, cluster, job, made, stepped, submitted, task


def test_an_empty_store_begins_at_version_zero(store: Store) -> None:
    saved = store.load()

    assert (saved.version, saved.document, saved.jobs, saved.next_decision) == (0, None, (), 1)
    assert (saved.node_states, saved.kept) == ({}, {})


def test_what_was_committed_is_there_after_a_restart(url: str) -> None:
    store = Store.open(url)
    submitted(store, job("a", priority=3), job("b"))
    stepped(store, changed=[job("a", phase=Phase.RUNNING, priority=3)], decisions=[made(1, "a")])
    store.close()

    store = Store.open(url)
    saved = store.load()
    assert saved.version == 2
    assert saved.jobs == (job("a", phase=Phase.RUNNING, priority=3), job("b"))
    assert saved.next_decision == 2
    store.close()


def test_a_workload_that_ended_is_not_loaded_but_kept(store: Store) -> None:
    submitted(store, job("a"), job("b"))
    stepped(store, changed=[job("a", phase=Phase.COMPLETED)])

    assert [one.name for one in store.load().jobs] == ["b"]
    record = store.workload("a")
    assert record is not None
    assert record.job.phase is Phase.COMPLETED
    assert record.task == task()


def test_what_a_doctrine_remembers_changes_with_the_step_that_says_so(store: Store) -> None:
    clocks = {"ytsaurus": {"queues": [{"name": "q", "below_fair_share_since": 5}], "share": 0.1 + 0.2}}
    store.commit(Entry(0, Step(START, kept=clocks), []))
    stepped(store, changed=[])

    assert store.load().kept == clocks
    assert [at for at, _ in store.steps()] == [START, START]
    with pytest.raises(StaleError):
        store.commit(Entry(1, Step(START, kept={"ytsaurus": {}}), []))
    assert store.load().kept == clocks
    store.commit(Entry(2, Step(START, kept={}), []))
    assert store.load().kept == {}


def test_a_new_cluster_file_leaves_it_as_it_is(store: Store) -> None:
    store.configure(cluster("n1"))
    store.commit(Entry(1, Step(START, kept={"ytsaurus": {"updated": 1}}), []))
    store.configure(cluster("n1", "n2"))

    assert store.load().kept == {"ytsaurus": {"updated": 1}}


def test_a_step_made_from_an_old_version_is_refused(store: Store, url: str) -> None:
    other = Store.open(url)
    version = store.load().version
    submitted(other, job("theirs"))

    late = Entry(version, Step(START, changed={"ours": job("ours")}), [Submit(job("ours").workload)], {"ours": task()})
    with pytest.raises(StaleError, match="made from version 0 of the store, which is at 1"):
        store.commit(late)
    assert not store.taken("ours")
    assert len(list(store.steps())) == 1
    other.close()


def test_a_commit_that_fails_half_way_leaves_nothing(store: Store) -> None:
    submitted(store, job("a"))
    stranger = Transition(START, "nobody", 0, Signal.START, Phase.PENDING, Phase.STARTING)

    with pytest.raises(StoreError):
        stepped(store, changed=[job("a", phase=Phase.RUNNING)], transitions=[stranger], audit=[_cancel(0)])
    assert store.load().version == 1
    assert store.load().jobs == (job("a"),)
    assert len(list(store.steps())) == 1
    assert store.audit() == ()


def test_a_name_is_given_once(store: Store) -> None:
    submitted(store, job("a", phase=Phase.COMPLETED))

    assert store.taken("a")
    assert not store.taken("b")
    with pytest.raises(TakenError, match="submitted were a"):
        submitted(store, job("a"))
    assert store.load().version == 1


def test_a_submission_without_a_task_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="nothing says what to run for workload 'a'"):
        stepped(store, Submit(job("a").workload), changed=[job("a")])


def test_a_change_of_a_workload_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="not in the store"):
        stepped(store, changed=[job("a")])


def test_a_refused_submission_does_not_touch_its_namesake(store: Store) -> None:
    submitted(store, job("a"), owner="ann")
    running = job("a", phase=Phase.RUNNING)
    again = Submit(job("a", priority=9).workload)
    no = Refusal(0, "live.taken", "there is one already")

    stepped(store, again, changed=[running], refusals=[no], tasks={"a": task("bob")})
    record = store.workload("a")
    assert record is not None
    assert record.job == running
    assert record.task.owner == "ann"
    assert [facts for _, facts in store.steps()][-1] == [again]


def test_what_was_refused_stands_as_such_in_the_audit_trail(store: Store) -> None:
    submitted(store, job("a"))
    refusal = Refusal(0, "live.over", "it has ended")

    stepped(store, Cancel("a", "ann"), Cancel("a", "bob"), refusals=[refusal], audit=[_cancel(0), _cancel(1)])
    assert [(one.allowed, one.rule) for one in store.audit()] == [(False, "live.over"), (True, "")]


def test_a_document_is_kept_without_its_workloads(store: Store) -> None:
    full = cluster("n1", workloads=[{"name": "w", "queue": "q"}])
    nodes = [full.nodes[0].model_copy(update={"reserved_for": "w", "reserved_since": 0})]

    assert store.configure(full.model_copy(update={"nodes": nodes})) == 1
    assert store.load().document == cluster("n1", workloads=[])


def test_the_same_document_again_makes_no_version(store: Store) -> None:
    assert [store.configure(cluster("n1")), store.configure(cluster("n1")), store.configure(cluster("n2"))] == [1, 1, 2]
    assert [version for version, _ in store.configurations()] == [1, 2]


def test_a_step_made_before_a_new_document_is_stale(store: Store) -> None:
    version = store.load().version
    store.configure(cluster("n1"))

    with pytest.raises(StaleError):
        store.commit(Entry(version, Step(START), []))


def test_the_state_of_a_node_is_kept_until_it_is_set_again(store: Store) -> None:
    store.configure(cluster("n1", "n2"))
    stepped(store, SetNode("n1", "cordoned"), SetNode("n2", "down"), SetNode("n1", "down"))
    stepped(store, SetNode("n1", "ready"), SetNode("gone", "down"), refusals=[Refusal(1, "x", "y", unknown=True)])

    assert store.load().node_states == {"n1": "ready", "n2": "down"}
    store.configure(cluster("n2"))
    assert store.load().node_states == {"n2": "down"}


def test_nodes_and_queues_that_were_put_in_are_part_of_the_document(store: Store) -> None:
    store.configure(cluster("n1"))
    stepped(store, SetNode("n1", "down"))
    small = Node.model_validate({"name": "n1", "capacity": {"cpu": "100m"}})
    child = Queue.model_validate({"name": "q2", "parent": "q", "weight": 0.5})

    stepped(store, PutNode(small), PutQueue(child), PutQueue(child))
    saved = store.load()
    assert saved.document is not None
    assert saved.document.nodes == [small]
    assert saved.document.queues == [Queue(name="q"), child]
    assert saved.node_states == {}


def _cancel(fact: int) -> AuditRequest:
    return AuditRequest(fact, "ann", "user", "cancel", "a")
