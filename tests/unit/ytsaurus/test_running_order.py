"""Which operations run where a pool may have so many at once: the same, in whatever order a file lists its entries."""

import cede

POOLS = [
    {"name": "p", "settings": {"max_running_operation_count": 1}},
    {"name": "a", "parent": "p"},
    {"name": "b", "parent": "p"},
]
WORK = [{"name": f"{pool}-1", "queue": pool, "app": "x", "requests": {"cpu": 1}, "submitted": 0} for pool in "ab"]


def test_of_two_of_one_name_the_one_in_the_first_pool_by_name_runs() -> None:
    for pools in (POOLS, [POOLS[0], POOLS[2], POOLS[1]]):
        for work in (WORK, WORK[::-1]):
            document = {
                "cede": 1,
                "doctrine": "ytsaurus",
                "nodes": [{"name": "n", "capacity": {"cpu": 4}}],
                "queues": pools,
                "workloads": work,
            }
            plan = cede.plan(cede.load(document))
            assert {made.workload: made.action for made in plan.decisions} == {"a-1": "start", "b-1": "wait"}
