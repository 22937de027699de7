"""Answers that the released schedulers gave on random clusters: Cede must give one of them, row for row."""

from pathlib import Path

import pytest

import cede
from tests.corpus.answers import Json, agrees, answer_of, rows_of

FILES = sorted(Path(__file__).parent.glob("*.jsonl.gz"))
ROWS = {
    "backendai-26.8": 500,
    "differences": 47,
    "kubernetes": 244,
    "kueue": 950,
    "lattice-core": 300,
    "yunikorn-1.9": 800,
}


def title(path: Path) -> str:
    return path.name.removesuffix(".jsonl.gz")


@pytest.mark.parametrize("path", FILES, ids=title)
def test_every_answer_is_one_that_the_release_gave_and_the_plan_is_lawful(path: Path) -> None:
    rows = list(rows_of(path))
    differing, unlawful = {}, {}
    for row in rows:
        cluster = cede.load(row["cluster"])
        plan = cede.plan(cluster)
        if not agrees(row, plan):
            differing[row["id"]] = (answer_of(row, plan.to_dict()["decisions"]), row["answers"])
        if problems := cede.verify(cluster, plan):
            unlawful[row["id"]] = problems

    assert len(rows) == ROWS[title(path)]
    assert differing == {}
    assert unlawful == {}


def test_every_file_is_read() -> None:
    assert sorted(map(title, FILES)) == sorted(ROWS)


@pytest.mark.parametrize("kind", ["one-ask", "first-of-several-asks", "whole-plan", "one-pending", "one-pod"])
def test_another_answer_is_noticed(kind: str) -> None:
    row = next(row for path in FILES for row in rows_of(path) if row["kind"] == kind and _victims(row))
    plan = cede.plan(cede.load(row["cluster"]))

    assert agrees(row, plan)
    for answer in row["answers"]:
        for made in answer.get("decisions", {"": answer}).values():
            made["victims"] = [*made["victims"], "somebody else"]
    assert not agrees(row, plan)


def _victims(row: Json) -> bool:
    first = row["answers"][0]
    return any(made["victims"] for made in first.get("decisions", {"": first}).values())
