import os
import signal

from cede.engine.drive.facts import Began, Checkpointed, Exited
from cede.engine.drive.orders import Hint
from tests.live.executor.stand import Stand, shell, task, until

RANKED = "case $CEDE_RANK in {rank}) {then};; *) {others};; esac"


def test_a_gang_begins_when_all_have_begun_and_ends_when_all_are_gone(stand: Stand) -> None:
    stand.launch("gang", shell("sleep 0.$CEDE_RANK"), members=4)

    assert stand.wait(Exited, "gang") == Exited("gang", 1, code=0)
    assert stand.facts == [Began("gang", 1), Exited("gang", 1, code=0)]


def test_each_member_knows_its_rank_and_where_the_others_are(stand: Stand) -> None:
    names = "CEDE_RANK CEDE_SIZE CEDE_NODE CEDE_NODES CEDE_ADDRESSES RANK WORLD_SIZE MASTER_ADDR MASTER_PORT"
    stand.end("gang", shell(f"for name in {names}; do eval echo \\$$name; done"), members=3)

    told = [stand.text("gang", member).split("\n")[:-1] for member in range(3)]
    port = told[0][-1]
    assert 1024 < int(port) < 32768
    assert told == [
        [str(rank), "3", f"n{rank}", "n0,n1,n2", "10.0.0.0,10.0.0.1,10.0.0.2", str(rank), "3", "10.0.0.0", port]
        for rank in range(3)
    ]


def test_members_share_one_checkpoint_folder_but_no_control_folder(stand: Stand) -> None:
    stand.end("gang", shell("touch $CEDE_CHECKPOINT_DIR/$CEDE_RANK $CEDE_CONTROL_DIR/mine"), members=3)

    job = stand.data / "jobs" / "gang"
    assert sorted(path.name for path in (job / "checkpoint").iterdir()) == ["0", "1", "2"]
    assert all((stand.folder("gang", member) / "control" / "mine").exists() for member in range(3))


def test_one_member_that_fails_ends_the_others(stand: Stand) -> None:
    script = RANKED.format(rank=2, then="exit 9", others="sleep 100")
    stand.launch("gang", shell(script), members=4)

    assert stand.wait(Exited, "gang") == Exited("gang", 1, code=9)


def test_the_others_have_the_grace_of_the_task(stand: Stand) -> None:
    saves = "trap 'sleep 0.2; echo saved; exit 0' TERM; echo ready; touch $CEDE_CHECKPOINT_DIR/$CEDE_RANK; "
    others_are_there = "[ -e $CEDE_CHECKPOINT_DIR/1 ] && [ -e $CEDE_CHECKPOINT_DIR/2 ]"
    fails = f"until {others_are_there}; do sleep 0.01; done; kill -ABRT $$"
    script = RANKED.format(rank=0, then=fails, others=f"{saves} while :; do sleep 0.01; done")
    stand.launch("gang", shell(script), members=3)

    assert stand.wait(Exited, "gang") == Exited("gang", 1, signal=6)
    assert [stand.text("gang", member) for member in (1, 2)] == ["ready\nsaved\n"] * 2


def test_others_that_do_not_go_are_killed_after_that_grace(stand: Stand) -> None:
    script = RANKED.format(rank=0, then="sleep 0.2; exit 3", others="trap '' TERM; while :; do sleep 0.05; done")
    stand.launch("gang", shell(script, grace_us=200_000), members=2)

    assert stand.wait(Exited, "gang") == Exited("gang", 1, code=3)


def test_a_member_that_cannot_start_is_the_error_of_the_whole(stand: Stand) -> None:
    stand.launch("gang", task("no-such-command"), members=4)

    assert stand.wait(Exited, "gang").error.startswith("no-such-command could not be started")
    assert not [fact for fact in stand.facts if isinstance(fact, Began)]


def test_a_gang_that_is_told_to_go_was_told_as_a_whole(stand: Stand) -> None:
    stand.run("gang", task("sleep", "100"), members=4)
    stand.terminate("gang")

    assert stand.wait(Exited, "gang") == Exited("gang", 1, signal=15, told=True)
    assert stand.processes() == []


def test_a_member_that_ended_well_before_the_others_were_told_completes_nothing(stand: Stand) -> None:
    polite = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    stand.run("gang", shell(RANKED.format(rank=0, then="exit 0", others=polite)), members=2)
    until((stand.folder("gang", 0) / "exit.json").exists)
    stand.said("gang", "ready", member=1)
    stand.terminate("gang")

    assert stand.wait(Exited, "gang") == Exited("gang", 1, code=0, told=True)


def test_a_member_whose_supervisor_is_killed_takes_the_gang_with_it(stand: Stand) -> None:
    stand.run("gang", task("sleep", "100"), members=3)
    os.kill(stand.supervisor("gang", 1), signal.SIGKILL)

    assert stand.wait(Exited, "gang") == Exited("gang", 1, lost=True)
    assert stand.processes() == []


def test_a_gang_that_failed_while_the_server_was_away_is_ended_by_the_next(stand: Stand) -> None:
    fails = "until [ -e $CEDE_CHECKPOINT_DIR/go ]; do sleep 0.01; done; exit 9"
    stand.run("gang", shell(RANKED.format(rank=1, then=fails, others="sleep 100")), members=2)
    stand.executor.close()
    (stand.data / "jobs" / "gang" / "checkpoint" / "go").touch()
    until((stand.folder("gang", 1) / "exit.json").exists)
    stand.executor = stand._new()
    stand.open()
    stand.executor.adopt({"gang": 1})

    assert stand.wait(Exited, "gang") == Exited("gang", 1, code=9)


def test_a_gang_is_adopted_whole_after_a_restart(stand: Stand) -> None:
    stand.run("gang", task("sleep", "100"), members=4)
    stand.restart({"gang": 1})

    assert stand.wait(Began, "gang", count=2) == Began("gang", 1)
    stand.terminate("gang")
    assert stand.wait(Exited, "gang") == Exited("gang", 1, signal=15, told=True)


def test_a_gang_has_a_checkpoint_when_every_member_has_answered(stand: Stand) -> None:
    answers = (
        "trap 'sleep 0.$CEDE_RANK; echo 1 > $CEDE_CONTROL_DIR/done' USR1; echo ready; while :; do sleep 0.01; done"
    )
    stand.run("gang", shell(answers, protocol="signal"), members=3)
    for member in range(3):
        stand.said("gang", "ready", member)
    stand.executor.hint(Hint("gang", 1, 1, leaving=False))

    stand.wait(Checkpointed, "gang")
    assert [fact for fact in stand.facts if not isinstance(fact, Began)] == [Checkpointed("gang", 1, 1)]
    assert all((stand.folder("gang", member) / "control" / "done").exists() for member in range(3))
