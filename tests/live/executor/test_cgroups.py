import os
from pathlib import Path

import pytest

from cede.engine.drive.facts import Exited
from cede.live.executors.local.cgroups import CONTROLLERS, find_cgroups
from tests.live.executor.stand import ROOT, Stand, shell, task, until


def groups_of(pid: int) -> dict[str, str]:
    """The control group of a process, by controller."""
    lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    return {controller: path for _, controllers, path in lines for controller in controllers.split(",")}


def test_what_this_machine_does_not_allow_is_said(stand: Stand) -> None:
    works = set(stand.executor._cgroups.groups)
    notices = [line for line in stand.executor.notices() if "control" in line]

    if not works:
        kept = "jobs are not kept to what they asked for: no controller of control groups of version 2 can be had here"
        assert notices[0] == kept
        assert len(notices) == (2 if stand.executor._cgroups.parent is None else 1)
        return
    assert len(notices) == len(set(CONTROLLERS) - works)
    assert all(any(f"the controller {name} " in line for line in notices) for name in set(CONTROLLERS) - works)


def test_a_job_that_asked_for_nothing_has_its_group_too_so_that_nothing_of_it_is_lost(stand: Stand) -> None:
    parent = stand.executor._cgroups.parent
    if parent is None:
        pytest.skip("no control group can be made here")
    stand.run("job", task("sleep", "100"))

    ours, own = groups_of(stand.pid("job")), groups_of(os.getpid())
    assert ours.pop("").endswith(f"/{parent.name}/job@1.0")
    own.pop("")
    assert ours == own
    stand.terminate("job")
    stand.wait(Exited, "job")
    assert not parent.exists()


def test_a_job_is_in_its_groups_and_its_supervisor_is_not(stand: Stand) -> None:
    limits = stand.executor._cgroups
    if "cpu" not in limits.groups:
        pytest.skip("no control group with the controller cpu can be made here")
    stand.run("job", shell("sleep 100 & sleep 100", cpu=1.5, account="nobody" if ROOT else None))
    group = limits.groups["cpu"] / "job@1.0"

    pids = set(map(int, (group / "cgroup.procs").read_text().split()))
    assert stand.pid("job") in pids
    assert stand.supervisor("job") not in pids
    until(lambda: len((group / "cgroup.procs").read_text().split()) >= 2)
    assert (group / "cpu.weight").read_text().strip() == "150"
    stand.terminate("job")
    stand.wait(Exited, "job")
    assert not group.exists()


def test_a_lost_job_leaves_no_group(stand: Stand) -> None:
    if "cpu" not in stand.executor._cgroups.groups:
        pytest.skip("no control group with the controller cpu can be made here")
    stand.run("job", task("sleep", "100", cpu=1.0))
    os.kill(stand.supervisor("job"), 9)
    stand.wait(Exited, "job")

    assert not (stand.executor._cgroups.groups["cpu"] / "job@1.0").exists()


def test_no_group_is_left_when_nothing_runs(data: Path) -> None:
    limits = find_cgroups(data)

    assert not any(parent.exists() for parent in limits.groups.values())


def test_groups_come_and_go_with_the_jobs_in_them(stand: Stand) -> None:
    """Each end may take away what the next start needs, at the very moment."""
    for number in range(60):
        stand.launch(f"job-{number}", task("true", cpu=1.0))
        if number % 3 == 0:
            stand.terminate(f"job-{number}")

    ends = [stand.wait(Exited, f"job-{number}") for number in range(60)]
    assert {(end.code, end.error) for end in ends if not end.told} == {(0, "")}
    assert not any(parent.exists() for parent in stand.executor._cgroups.groups.values())
