from pathlib import Path

import pytest

from cede.engine.drive.facts import Exited
from cede.live.executors.local.gpus import GpuError, Gpus, NodeFacts
from tests.live.executor.stand import Stand, shell, task

NODES = {"n0": NodeFacts(("0", "1", "2", "3")), "n1": NodeFacts(("GPU-a", "GPU-b")), "n2": NodeFacts()}
SHOW = "echo ${CUDA_VISIBLE_DEVICES-unset}; sleep 100"


@pytest.fixture
def gpu_stand(data: Path) -> Stand:
    return Stand(data, nodes=NODES)


def test_members_on_one_node_share_its_devices_without_overlap() -> None:
    gpus = Gpus(NODES)

    assert gpus.assign(("a", 1), ["n0", "n0", "n1"], 1) == [["0"], ["1"], ["GPU-a"]]
    assert gpus.assign(("b", 1), ["n0"], 2) == [["2", "3"]]
    gpus.free(("a", 1))
    assert gpus.assign(("c", 1), ["n0", "n1"], 2) == [["0", "1"], ["GPU-a", "GPU-b"]]


def test_too_many_are_refused_and_then_nothing_is_taken() -> None:
    gpus = Gpus(NODES)
    gpus.assign(("a", 1), ["n1"], 1)

    with pytest.raises(GpuError, match="node n1 has 1 of its 2 GPUs free, and 2 are asked for"):
        gpus.assign(("b", 1), ["n0", "n1"], 2)
    assert gpus.assign(("c", 1), ["n0"], 4) == [["0", "1", "2", "3"]]


def test_where_no_node_has_any_nothing_is_said() -> None:
    assert Gpus({"n0": NodeFacts()}).assign(("a", 1), ["n0"], 2) == [None]


def test_a_job_sees_the_devices_it_was_given_and_no_others(gpu_stand: Stand) -> None:
    gpu_stand.open()
    gpu_stand.run("two", shell(SHOW, gpus=2))
    gpu_stand.run("none", shell(SHOW))
    gpu_stand.said("two", "0,1")
    gpu_stand.said("none", "")

    assert "has 2 of its 4 GPUs free" in gpu_stand.end("many", task("true", gpus=3)).error
    gpu_stand.terminate("two")
    gpu_stand.wait(Exited, "two")
    gpu_stand.run("again", shell(SHOW, gpus=4))
    gpu_stand.said("again", "0,1,2,3")
    gpu_stand.clear()


def test_devices_stay_taken_over_a_restart(gpu_stand: Stand) -> None:
    gpu_stand.open()
    gpu_stand.run("old", shell(SHOW, gpus=3))
    gpu_stand.restart({"old": 1})
    gpu_stand.run("new", shell(SHOW, gpus=1))

    gpu_stand.said("new", "3")
    gpu_stand.clear()
