"""What owners have under way is counted where submissions are taken in: exactly, whatever happens to their work."""

from __future__ import annotations

from typing import Any

import pytest

from cede.engine.drive.caps import Cap
from cede.engine.drive.facts import Cancel, Resume, Submit, Suspend
from cede.engine.drive.terms import Terms
from cede.model.quantities import NANO
from tests.drive_world import World, workload
from tests.unit.drive.worlds import claimed, nodes, survives_restart, terms

NOBODY_MORE = {"pending": 0, "workloads": 0, "requests": {"cpu": 0}}


def submit(world: World, name: str, cap: Cap, **values: Any) -> str:
    """Why it was refused; empty if it was taken."""
    entry = workload(world.document, name, **{"user": "ann", "cpu": 1, "priority": 1} | values)
    step = world.feed(Submit(entry, Terms(), (cap,)))
    return "".join(refusal.why for refusal in step.refusals)


def held(world: World, owner: str = "user") -> tuple[str, ...]:
    """What is counted for ann, or for her project: as one more submission would be told."""
    return tuple(
        submit(world, "one-more", Cap(owner, **{key: most}), project="ml").removeprefix(f"the {owner} ").split(",")[0]  # type: ignore[arg-type]
        for key, most in NOBODY_MORE.items()
    )


def counted(pending: int, every: int, cpu: int, who: str = "ann") -> tuple[str, ...]:
    def some(count: int) -> str:
        return f"{count} workload{'' if count == 1 else 's'}"

    return (
        f"{who} has {some(pending)} pending",
        f"{who} has {some(every)} pending and running",
        f"{who} asks for {cpu} cpu already and 1 more",
    )


def test_two_submissions_of_one_step_do_not_pass_as_one() -> None:
    world = nodes(4)
    cap = Cap("user", workloads=1)
    facts = [Submit(workload(world.document, name, user="ann", cpu=1), Terms(), (cap,)) for name in ("a", "b", "c")]

    step = world.feed(*facts)
    assert [refusal.fact for refusal in step.refusals] == [1, 2]
    assert {refusal.rule for refusal in step.refusals} == {"live.cap"}


def test_work_is_counted_while_it_waits_while_it_runs_and_no_longer() -> None:
    world = nodes(4)
    assert held(world) == counted(0, 0, 0)
    world.run("runs", cpu=3, user="ann", project="ml")
    world.submit("waits", cpu=2, user="ann", project="ml", members=2)
    world.submit("other", cpu=1, user="bob", project="ml")

    assert held(world) == counted(1, 2, 7)
    assert held(world, "project") == counted(1, 3, 8, "ml")
    survives_restart(world)
    world.feed(Suspend("waits"))
    assert held(world) == counted(1, 2, 7)
    world.feed(Resume("waits"), Cancel("waits"))
    assert held(world) == counted(0, 1, 3)
    world.exit("runs")
    assert held(world) == counted(0, 0, 0)
    assert held(world, "project") == counted(0, 1, 1, "ml")


def test_victims_wait_again_and_who_fails_and_queues_again_is_counted_once() -> None:
    world = claimed(user="ann", terms=terms(requeue="always"))
    assert held(world) == counted(0, 1, 4)
    world.save("old")
    world.exit("old")
    assert held(world) == counted(1, 1, 4)

    world = nodes(4)
    world.run("fails", cpu=4, user="ann", terms=terms(requeue="always"))
    assert held(world) == counted(0, 1, 4)
    world.exit("fails", code=1)
    assert held(world)[1:] == counted(0, 1, 4)[1:]


def test_what_is_refused_is_not_counted() -> None:
    world = nodes(4)
    assert submit(world, "never", Cap("user", workloads=9), cpu=5)
    assert held(world) == counted(0, 0, 0)


@pytest.mark.parametrize(("cpu", "taken"), [(4, True), (5, False)])
def test_a_cap_of_requests_is_reached_and_not_passed(cpu: int, taken: bool) -> None:
    world = nodes(8)
    cap = Cap("user", requests={"cpu": 4 * NANO}, keys={"requests[cpu]": "caps.user.requests[cpu]"})

    assert (submit(world, "w", cap, cpu=cpu) == "") is taken
