from cede.sim.measures.costliest import COLUMNS, costliest
from tests.sim.results import HOUR, Job, Preempts, Ran, result_of

THREE = result_of(
    Job("cheap", [Ran(0, HOUR, "preempted", lost=HOUR)], size=1, queue="x"),
    Job("dear", [Ran(0, 2 * HOUR, "preempted", lost=HOUR / 2, overhead=HOUR / 2)], size=4, queue="x", priority=2),
    Job("leaving", [Ran(0, 3 * HOUR, "open")], size=2),
    Job("one", [Ran(HOUR, 2 * HOUR)], size=1, queue="y", priority=9),
    Job("two", [Ran(2 * HOUR, 3 * HOUR)], size=3, queue="y", priority=9),
    decisions=[
        Preempts(HOUR, "one", ["cheap"], rule="older", why="it ran longest"),
        Preempts(1.5 * HOUR, "two", ["dear"], moment="moments/1.yaml"),
        Preempts(2.5 * HOUR, None, ["leaving"]),
    ],
    end=3 * HOUR,
)


def test_the_costliest_preemption_comes_first_with_who_for_whom_and_why() -> None:
    first, second = costliest(THREE).to_dicts()

    assert first == {
        "decision": 1,
        "at": 5400 * 10**6,
        "victim": "dear",
        "victim_priority": 2,
        "victim_queue": "x",
        "size": 4,
        "claimant": "two",
        "claimant_priority": 9,
        "claimant_queue": "y",
        "claimant_size": 3,
        "rule": "lower-priority-only",
        "why": "it makes room",
        "victim_rule": "lower-priority-only",
        "victim_why": "it makes room",
        "saved": False,
        "lost_hours": 2,
        "overhead_hours": 2,
        "cost_hours": 4,
        "lost_gpu_hours": 4,
        "moment": "moments/1.yaml",
    }
    assert (second["victim"], second["cost_hours"], second["rule"], second["moment"]) == ("cheap", 1, "older", None)


def test_gpus_of_every_kind_are_counted_and_a_cluster_without_has_none() -> None:
    def told(**asks: float) -> list[float | None]:
        job = Job("v", [Ran(0, HOUR, "preempted", lost=HOUR)], asks=asks)
        capacity = dict.fromkeys(asks, 8.0)
        made = result_of(job, decisions=[Preempts(HOUR, None, ["v"])], capacity=capacity, end=HOUR)
        return costliest(made)["lost_gpu_hours"].to_list()

    assert told(**{"amd.com/gpu": 2, "nvidia.com/gpu": 3, "cpu": 1}) == [5]
    assert told(cpu=4) == [None]


def test_only_so_many_are_told() -> None:
    assert costliest(THREE, 1)["victim"].to_list() == ["dear"]


def test_a_replay_without_preemption_has_an_empty_table() -> None:
    found = costliest(result_of(Job("a", [Ran(0, 1)])))

    assert (found.columns, len(found)) == (list(COLUMNS), 0)


def test_equal_costs_are_in_order_of_decision_and_then_of_job() -> None:
    alike = [Job(name, [Ran(0, 10, "preempted", lost=10)]) for name in "cab"]

    found = costliest(result_of(*alike, decisions=[Preempts(5, None, ["b"]), Preempts(6, None, ["a", "c"])]))

    assert found["victim"].to_list() == ["b", "c", "a"]


def test_a_victim_that_two_decisions_count_on_costs_once() -> None:
    found = costliest(
        result_of(
            Job("v", [Ran(0, 10, "preempted", lost=10)]),
            decisions=[Preempts(5, None, ["v"]), Preempts(6, None, ["v"])],
        )
    )

    assert found["decision"].to_list() == [0]
