"""What the page about the word minimal says of its example, worked out by trying every set of victims."""

import re
from collections.abc import Callable, Iterator
from itertools import combinations

import pytest

import cede
from cede.model.workloads import Workload
from docs.blocks import ROOT, blocks_of
from docs.drawn_minimal import EXAMPLE, NOTIONS, PICTURE, Notion

Jobs = tuple[Workload, ...]
Names = frozenset[str]

PAGE = ROOT / "docs/concepts/minimal.md"
NANO, MINUTE = 10**9, 60_000_000


def running() -> Jobs:
    return tuple(one for one in cede.load(ROOT / EXAMPLE).document.workloads if one.state == "running")


def cpu(job: Workload) -> int:
    return job.requests["cpu"] // NANO


def minutes(jobs: Jobs) -> int:
    return sum((job.checkpoint.time if job.checkpoint and job.checkpoint.time else 0) // MINUTE for job in jobs)


def priorities(jobs: Jobs) -> list[int]:
    return sorted((job.priority or 0 for job in jobs), reverse=True)


def names(jobs: Jobs) -> Names:
    return frozenset(job.name for job in jobs)


def subsets() -> Iterator[Jobs]:
    jobs = running()
    for count in range(1, len(jobs) + 1):
        yield from combinations(jobs, count)


def enough() -> list[Jobs]:
    """Every set that makes room for the claimant, on the node that is full."""
    document = cede.load(ROOT / EXAMPLE).document
    [claimant] = [one for one in document.workloads if one.state == "pending"]
    [node] = document.nodes
    free = node.capacity["cpu"] // NANO - sum(map(cpu, running()))
    return [jobs for jobs in subsets() if free + sum(map(cpu, jobs)) >= cpu(claimant)]


def irreducible() -> list[Jobs]:
    """Of those, the ones that nobody can be left out of."""
    found = enough()
    sets = {names(jobs) for jobs in found}
    return [jobs for jobs in found if not any(names(jobs) - {job.name} in sets for job in jobs)]


def the_best(key: Callable[[Jobs], object]) -> Names:
    """The set that no other equals."""
    ranked = sorted(enough(), key=key)  # type: ignore[arg-type]
    assert key(ranked[0]) != key(ranked[1]), "one set alone is minimal in this sense"
    return names(ranked[0])


def newest_first() -> Names:
    """Newest one by one until it fits; then those are spared, the oldest first, who are not needed."""
    sets = {names(jobs) for jobs in enough()}
    by_age = sorted(running(), key=lambda job: job.started or 0)
    taken: list[str] = []
    while frozenset(taken) not in sets:
        taken.append(by_age.pop().name)
    for name in reversed(taken.copy()):
        if frozenset(taken) - {name} in sets:
            taken.remove(name)
    return frozenset(taken)


def worked_out() -> dict[str, Names]:
    return {
        "fewest victims": the_best(len),
        "cheapest": the_best(minutes),
        "lowest priority first": the_best(priorities),
        "nothing superfluous": newest_first(),
    }


def test_all_four_notions_choose_different_sets() -> None:
    assert len(set(worked_out().values())) == len(worked_out()) == 4


def test_none_of_them_has_anybody_superfluous() -> None:
    assert set(worked_out().values()) <= {names(jobs) for jobs in irreducible()}


def test_costs_are_those_that_every_plan_tells() -> None:
    [decision] = cede.plan(cede.load(ROOT / EXAMPLE)).to_dict()["decisions"]
    told = {victim["workload"]: victim["cost"] for victim in decision["victims"]}

    assert told == {job.name: minutes((job,)) for job in running() if job.name in worked_out()["lowest priority first"]}


def test_the_cheapest_is_further_than_a_tenth_from_any_set_of_fewer_victims() -> None:
    cheapest = worked_out()["cheapest"]
    least = min(map(minutes, enough()))

    assert [jobs for jobs in enough() if len(jobs) < len(cheapest) and 10 * minutes(jobs) <= 11 * least] == []


def test_the_table_of_the_page_has_the_four_sets_and_their_numbers() -> None:
    by_name = {job.name: job for job in running()}
    told = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 7 and cells[0] in worked_out():
            victims = tuple(by_name[name] for name in re.findall(r"`([^`]+)`", cells[1]))
            told[cells[0]] = names(victims)
            assert cells[2:6] == [
                str(len(victims)),
                f"{minutes(victims)} min",
                ", ".join(map(str, priorities(victims))),
                str(sum(map(cpu, victims))),
            ]

    assert told == worked_out()


def test_the_picture_marks_the_four_sets() -> None:
    picture = (ROOT / PICTURE).read_text(encoding="utf-8")
    rows = re.findall(r'<g data-notion="([^"]+)" data-victims="([^"]+)">\n(.*?)</g>', picture, re.DOTALL)
    marked = {
        notion: frozenset(re.findall(r'<text class="[^"]*goes-name"[^>]*>([^<]+)</text>', row))
        for notion, _, row in rows
    }

    assert {notion: frozenset(listed.split()) for notion, listed, _ in rows} == worked_out()
    assert marked == worked_out()
    assert "://" not in picture.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "](../images/minimal.svg)" in PAGE.read_text(encoding="utf-8")


def test_the_page_counts_right() -> None:
    found = re.search(r"Of the (\d+) sets .*?, (\d+) free enough, and (\d+) of those have", PAGE.read_text("utf-8"))

    assert found is not None
    assert tuple(map(int, found.groups())) == (len(list(subsets())), len(enough()), len(irreducible()))


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda notion: notion.name)
def test_the_page_shows_the_plans_that_are_drawn(notion: Notion) -> None:
    shown = {command.line for block in blocks_of(PAGE.read_text("utf-8")) for command in block.commands}

    assert set(notion.commands) <= shown


def test_where_nobody_is_spared_somebody_goes_for_nothing() -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = next(
        command.shown or ""
        for block in blocks_of(page)
        for command in block.commands
        if "ytsaurus/25.4" in command.line
    )
    taken = frozenset(re.search(r"urgent +(\w+), (\w+), (\w+)", shown).groups())  # type: ignore[union-attr]

    assert worked_out()["nothing superfluous"] < taken
