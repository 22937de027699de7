from pathlib import Path
from typing import Any

from cede.engine.drive.facts import Began, Checkpointed, CheckpointFailed, Deferral, Exited, Heard
from cede.live.executors.local.adoption import conclude
from cede.live.executors.local.gang import Gang, Member
from cede.live.executors.local.guard.outcome import outcome


def gang(members: int, **options: Any) -> Gang:
    return Gang("g", 1, [Member() for _ in range(members)], **options)


def said(**words: Any) -> dict[str, Any]:
    return {"done": 0, "own": 0, "failed": None, "progress": None, "defer": None, **words}


def ended(*ends: dict[str, Any]) -> Exited:
    whole = gang(len(ends))
    for member, end in zip(whole.members, ends, strict=True):
        member.exit = outcome(**{"elapsed": end.get("at", 0)} | end)
    [fact] = [fact for fact in whole.news() if isinstance(fact, Exited)]
    return fact


def test_it_has_begun_when_all_have_and_says_so_once() -> None:
    whole = gang(2)
    whole.members[0].began = True
    assert list(whole.news()) == []
    whole.members[1].began = True

    assert list(whole.news()) == [Began("g", 1)]
    assert list(whole.news()) == []


def test_the_first_failure_is_the_end_of_the_whole() -> None:
    first, later = {"code": 3, "at": 1}, {"signal": 15, "told": True, "at": 2}

    assert ended(later, first, {"code": 0, "at": 0}) == Exited("g", 1, code=3)
    assert ended({"signal": 9, "told": True, "at": 1}, {"code": 1, "told": True, "at": 2}) == (
        Exited("g", 1, signal=9, told=True)
    )
    assert ended({"lost": True, "at": 1}, later) == Exited("g", 1, lost=True)
    assert ended({"error": "no", "at": 1}, {"told": True, "at": 1}) == Exited("g", 1, error="no")
    assert ended({"code": 0, "at": 1}, {"code": 0, "told": True, "at": 2}) == Exited("g", 1, code=0, told=True)
    assert ended({"signal": 15, "told": True, "walltime": True, "at": 1}).walltime


def test_which_failure_was_the_first_is_told_by_what_elapsed_though_the_clock_was_set_back() -> None:
    first, later = {"lost": True, "at": 10**15, "elapsed": 5}, {"code": 3, "at": 1, "elapsed": 6}

    assert ended(later, first) == Exited("g", 1, lost=True)
    assert ended({**first, "boot": "before"}, later) == Exited("g", 1, code=3), "across boots there is only the wall"


def test_who_was_told_to_go_because_another_had_failed_was_never_the_first() -> None:
    broken = {"code": 143, "told": True, "cause": "gang", "at": 1}

    assert ended(broken, {"lost": True, "at": 2}, broken) == Exited("g", 1, lost=True)
    assert ended(broken, {"code": 0, "at": 2}) == Exited("g", 1, code=143, told=True)


def test_it_has_a_checkpoint_when_all_who_are_left_have_one() -> None:
    whole = gang(3)
    whole.members[0].said = said(done=1)
    whole.members[1].exit = outcome(code=0)
    assert list(whole.news()) == []
    whole.members[2].said = said(done=1)

    assert list(whole.news()) == [Checkpointed("g", 1, 1)]
    assert list(whole.news()) == []


def test_one_failed_checkpoint_is_a_failure_of_all() -> None:
    whole = gang(2)
    whole.members[0].said = said(done=1)
    whole.members[1].said = said(failed=[1, "disk full"])

    assert list(whole.news()) == [CheckpointFailed("g", 1, 1, "disk full")]
    assert list(whole.news()) == []


def test_progress_is_that_of_the_slowest_and_deferral_that_of_the_longest() -> None:
    whole = gang(2)
    whole.members[0].said = said(progress=[1, 0.5], defer=[1, 10])
    whole.members[1].said = said(progress=[1, 0.2], defer=[1, 30])

    assert list(whole.news()) == [Heard("g", 1, 1, 0.2), Deferral("g", 1, 1, 30_000_000)]


def test_a_checkpoint_that_nobody_asked_for_counts_when_all_have_written_one() -> None:
    whole = gang(2)
    whole.members[0].said = said(own=2)
    assert list(whole.news()) == []
    whole.members[1].said = said(own=1)

    assert list(whole.news()) == [Checkpointed("g", 1, 0)]


def test_processes_that_were_dumped_in_order_to_leave_are_gone() -> None:
    whole = gang(1, dumps=True)
    whole.members[0].said = said(done=1, leaving=True)

    assert list(whole.news()) == [Checkpointed("g", 1, 1, leaves=True)]


def test_the_end_tells_which_request_to_leave_was_answered_with_a_checkpoint() -> None:
    def gave_way(**words: Any) -> int:
        whole = gang(1)
        whole.members[0].said, whole.members[0].exit = said(**words), outcome(code=0)
        [fact] = [fact for fact in whole.news() if isinstance(fact, Exited)]
        return fact.gave_way

    assert gave_way(done=2, leaving=True) == 2
    assert gave_way(done=2, leaving=False) == 0
    assert gave_way() == 0


def test_one_that_was_told_to_go_before_it_began_tells_what_for(tmp_path: Path) -> None:
    end = conclude(str(tmp_path), told=True, cause="preempt")

    assert end is not None
    assert ended(end) == Exited("g", 1, told=True)
    assert ended(end).cause == "preempt"
