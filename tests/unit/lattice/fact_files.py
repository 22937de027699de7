"""The facts of Lattice's own documents and tests: which are tested here, which elsewhere, and why some are not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2]
Fact = dict[str, Any]
FACTS: list[Fact] = json.loads((TESTS / "facts" / "lattice.json").read_text(encoding="utf-8"))["facts"]

_TIMEOUTS, _SEQUENCE = "unit/drive/test_timeouts.py", "unit/drive/test_sequence.py"
_REQUEUE, _WALLTIME, _NODES = "unit/drive/test_requeue.py", "unit/drive/test_walltime.py", "unit/drive/test_nodes.py"
_GANGS, _GANG_FACTS = "live/scenarios/test_gangs.py", "live/executor/test_gang_facts.py"
_SENSITIVE = "live/api/test_sensitive.py"

ELSEWHERE: dict[str, tuple[str, str]] = {
    "lattice-188": (_GANGS, "test_a_gang_is_suspended_only_when_every_member_has_saved"),
    "lattice-194": ("unit/lattice/test_saving.py", "test_who_is_asked"),
    "lattice-192": (_SEQUENCE, "test_one_without_checkpoints_is_told_at_once"),
    "lattice-195": (_REQUEUE, "test_hints_are_numbered_from_1_in_every_attempt"),
    "lattice-196": ("unit/drive/test_asked_checkpoints.py", "test_who_does_not_answer_or_does_not_run_is_not_asked"),
    "lattice-199": (_TIMEOUTS, "test_who_answers_slowly_has_half_as_long_again_but_once"),
    "lattice-200": (_TIMEOUTS, "test_a_silent_victim_is_told_after_its_timeout_and_killed_after_its_grace"),
    "lattice-201": (_TIMEOUTS, "test_a_deferral_is_granted_up_to_the_most_in_one_ask"),
    "lattice-202": (_SEQUENCE, "test_one_without_checkpoints_is_killed_after_the_grace_period"),
    "lattice-203": (_GANG_FACTS, "test_one_failed_checkpoint_is_a_failure_of_all"),
    "lattice-205": (
        _REQUEUE,
        "test_a_victim_resumes_from_its_checkpoint_with_its_old_submission_time_and_is_counted",
    ),
    "lattice-209": (_NODES, "test_a_victim_on_a_node_that_goes_down_is_lost_and_its_claimant_waits"),
    "lattice-211": (_SEQUENCE, "test_the_claimant_starts_with_the_last_victim_and_not_before"),
    "lattice-225": (_WALLTIME, "test_a_victim_that_saves_within_the_grace_after_its_walltime_is_suspended"),
    "lattice-226": (_WALLTIME, "test_a_victim_that_does_not_save_within_the_grace_has_failed_by_its_walltime"),
    "lattice-247": ("unit/drive/test_refusals.py", "test_what_was_seen_of_another_attempt_changes_nothing"),
    "lattice-242": (_NODES, "test_a_cordoned_node_keeps_what_runs_there_and_takes_nothing_new"),
    "lattice-295": (_GANG_FACTS, "test_it_has_begun_when_all_have_and_says_so_once"),
    "lattice-296": (_GANG_FACTS, "test_it_has_begun_when_all_have_and_says_so_once"),
    "lattice-297": (_GANGS, "test_a_gang_whose_members_end_one_after_the_other_completes_with_the_last"),
    "lattice-298": (_GANGS, "test_a_gang_whose_members_end_one_after_the_other_completes_with_the_last"),
    "lattice-299": (_GANG_FACTS, "test_the_first_failure_is_the_end_of_the_whole"),
    "lattice-300": (_GANG_FACTS, "test_it_has_begun_when_all_have_and_says_so_once"),
    "lattice-313": ("live/store/test_commit.py", "test_a_step_made_from_an_old_version_is_refused"),
    "lattice-319": (_SENSITIVE, "test_every_step_of_sensitive_work_is_on_record_before_it_is_done"),
    "lattice-321": (_SENSITIVE, "test_every_step_of_sensitive_work_is_on_record_before_it_is_done"),
    "lattice-322": (
        _SENSITIVE,
        "test_nobody_but_its_owner_and_admins_reads_what_it_wrote_and_who_tried_is_on_record",
    ),
    "lattice-332": (_SEQUENCE, "test_a_victim_is_asked_then_told_then_leaves_suspended_and_the_claimant_starts"),
}
"""Facts about the sequence of a preemption, which is the same for every doctrine: file and test below `tests`."""

_ELASTIC = "a workload has a fixed number of members: there are no reactive ones that grow and shrink"
_CAP = "lending is on or off: no share of a vCluster's nodes is the most that may be lent"
_TERMINALS = "there are no terminals to attach"
_PROTOCOL = (
    "a workload says itself by which protocol it is asked, and where it writes; nothing is derived from its mode"
)
_BUDGET = "how much of a budget is used the file says in one number, `used`; it is not summed up here"
_POOL = "there is no limit for all sensitive work together"
_SLURM = "classes are numbers; there are no words of Slurm for them"

WITHOUT: dict[str, str] = {
    "lattice-082": "nothing in a file says where data is; the factor counts 0.5",
    **dict.fromkeys(("lattice-138", "lattice-139", "lattice-144", "lattice-147"), _CAP),
    **dict.fromkeys(("lattice-150", "lattice-151", "lattice-290"), _ELASTIC),
    "lattice-175": "the timeout is the same for sensitive work; the interval is another (test_saving.py)",
    **dict.fromkeys(("lattice-184", "lattice-185", "lattice-186"), _PROTOCOL),
    "lattice-190": "a gang has saved only if all its members have; half of them is a failure (see lattice-203)",
    "lattice-191": "a hint goes to processes of this machine, and does not get lost on its way",
    **dict.fromkeys(("lattice-214", "lattice-215", "lattice-323"), _TERMINALS),
    "lattice-241": "a node is cordoned or not; nothing tells one that still empties from an empty one",
    "lattice-246": "nodes have no agents that send heartbeats; reports carry the number of the attempt",
    "lattice-249": "nodes are not wiped",
    "lattice-250": "a node may be set ready as often as one likes; that changes nothing",
    "lattice-257": "workloads have no ports",
    "lattice-261": "there are no words for a lifecycle: a workload has a walltime or none",
    "lattice-263": "a class is sent like everything else; a fault of Lattice's own interface",
    **dict.fromkeys(("lattice-267", "lattice-268"), _SLURM),
    **dict.fromkeys(("lattice-278", "lattice-279"), _POOL),
    **dict.fromkeys(("lattice-285", "lattice-286"), _BUDGET),
    "lattice-324": "there are no images",
}
"""Facts of which Cede has no counterpart, each with the reason."""


def facts_of(kind: str) -> list[Fact]:
    """The facts of a kind that are tested in this folder."""
    return [fact for fact in FACTS if fact["kind"] == kind and fact["id"] not in {*ELSEWHERE, *WITHOUT}]


def fact(number: str) -> Fact:
    [found] = [one for one in FACTS if one["id"] == number]
    return found


def named(one: Fact) -> str:
    return str(one["id"])
