"""The same file gives the same plan, byte for byte, whatever the hash seed and the order of entries."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import yaml

from tests.properties.documents import Document, shuffled

TESTS = Path(__file__).parents[1]
SEEDS = (0, 1, 42, 4_294_967_295)

PROGRAM = """
import json, sys
import cede

for document in json.load(sys.stdin):
    cluster = cede.load(document)
    plan = cede.plan(cluster, explain=True, shares=True)
    assert cede.verify(cluster, plan) == []
    print(json.dumps(plan.to_dict()))
    print(json.dumps(cede.settle(cluster, cycles=100, interval=10).to_dict()))
"""


def documents() -> list[Document]:
    """Every vector and every scenario there is."""
    vectors = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(TESTS.glob("vectors/backendai/*.json"))]
    scenarios = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(TESTS.glob("scenarios/*.yaml"))]
    return [vector["cluster"] for vector in vectors] + scenarios


def output(seed: int) -> bytes:
    """What a fresh interpreter makes of all documents, each shuffled in a way of this seed's own."""
    mixed = [shuffled(document, Random(seed)) for document in documents()]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(mixed).encode(),
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def test_plans_and_runs_are_the_same_byte_for_byte() -> None:
    first, *others = [output(seed) for seed in SEEDS]

    assert first.count(b"\n") == 2 * len(documents())
    for seed, other in zip(SEEDS[1:], others, strict=True):
        assert other == first, f"hash seed {seed} gives another result than hash seed {SEEDS[0]}"


def test_shuffling_changes_the_text_of_a_document_and_not_its_meaning() -> None:
    for document in documents():
        mixed = shuffled(document, Random(1))

        assert json.dumps(mixed) != json.dumps(document)
        assert sorted(w["name"] for w in mixed["workloads"]) == sorted(w["name"] for w in document["workloads"])
