"""What a checkpoint is expected to take: what was measured of the workload, of its app, of its user; else assumed."""

from __future__ import annotations

import pytest

from cede.engine.drive.facts import AskCheckpoint, Checkpointed, Estimated
from cede.model.times import SECOND
from cede.state.columns import NEVER
from tests.drive_world import World
from tests.unit.drive.worlds import nodes, survives_restart, terms

SAVES = {"mode": "manual"}


def running(*names: str, checkpoint: object = SAVES, **values: object) -> World:
    made = nodes(16)
    for name in names:
        made.run(name, terms=terms(), cpu=1, checkpoint=checkpoint, **values)
    return made


def expected(made: World, name: str) -> tuple[int | None, str]:
    row = made.driver.state.work_index[name]
    takes = int(made.driver.state.work.checkpoint_time[row])
    stake = made.driver.at_stake(name, int(made.seconds * SECOND), None)
    assert stake is not None
    return (None if takes == NEVER else takes // SECOND), stake.saving


def measured(made: World, name: str, seconds: float) -> None:
    made.feed(Estimated(name, 1, int(seconds * SECOND)))


def test_nothing_is_known_of_the_first() -> None:
    made = running("first")

    takes, words = expected(made, "first")
    assert takes is None
    assert "assumed" in words


@pytest.mark.parametrize(("mode", "timeout", "takes"), [("manual", 4, 4), ("auto", 4, 4), ("auto", 400, None)])
def test_nobody_is_assumed_to_need_longer_than_the_timeout(mode: str, timeout: int, takes: int | None) -> None:
    made = nodes(16)
    made.run("first", terms=terms(checkpoint_timeout=timeout), cpu=1, checkpoint={"mode": mode})
    words = "saving takes 4s, all the time that it is given for that, for nothing was measured yet"
    found, said = expected(made, "first")
    assert (found, said == words) == (takes, takes is not None)
    survives_restart(made)
    measured(made, "first", 3)

    assert expected(made, "first") == (3, "saving takes 3s, as it took the last time")


def test_what_was_measured_of_it_counts_first() -> None:
    made = running("one", app="sweep", user="ann")
    measured(made, "one", 3)

    assert expected(made, "one") == (3, "saving takes 3s, as it took the last time")


@pytest.mark.parametrize(("owner", "name"), [("app", "sweep"), ("user", "ann")])
def test_one_that_was_never_asked_is_expected_to_do_as_others_of_its_app_or_user(owner: str, name: str) -> None:
    made = running("one", "other", **{owner: name})
    measured(made, "one", 4)
    made.run("late", terms=terms(), cpu=1, checkpoint=SAVES, **{owner: name})
    words = f"saving takes 4s, as others of the {owner} {name} took"

    assert expected(made, "other") == (4, words)
    assert expected(made, "late") == (4, words)


def test_an_app_says_more_than_a_user() -> None:
    made = running("one", app="sweep", user="ann")
    made.run("two", terms=terms(), cpu=1, checkpoint=SAVES, app="other", user="ann")
    made.run("both", terms=terms(), cpu=1, checkpoint=SAVES, app="sweep", user="ann")
    measured(made, "one", 4)
    measured(made, "two", 9)

    assert expected(made, "both")[0] == 4


def test_what_an_owner_says_counts_where_nothing_was_measured_and_no_more_than_the_timeout() -> None:
    made = running("one", checkpoint={"mode": "auto", "time": "2h"})

    assert expected(made, "one") == (600, "saving takes 10m, as its owner says")


def test_an_application_that_claims_to_need_very_long_gains_nothing_beyond_its_timeout() -> None:
    made = running("one")
    measured(made, "one", 10**8)

    assert expected(made, "one")[0] == 600


def test_what_was_measured_outlives_the_workload_and_a_restart() -> None:
    made = running("one", app="sweep")
    measured(made, "one", 4)
    made.exit("one")
    made.restart()
    made.run("late", terms=terms(), cpu=1, checkpoint=SAVES, app="sweep")

    assert expected(made, "late")[0] == 4


def test_a_checkpoint_that_was_asked_for_is_measured() -> None:
    made = running("one")
    made.feed(AskCheckpoint("one"))
    made.feed(Checkpointed("one", 1, hint=1), after=7)

    assert expected(made, "one") == (7, "saving takes 7s, as it took the last time")
