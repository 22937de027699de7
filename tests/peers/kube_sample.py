"""A sample of kube-scheduler's answers as rows of the corpus: the first so many of every kind, in the order of seeds.

python -m tests.peers.kube_sample answers.jsonl tests/corpus/kubernetes.jsonl.gz
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.peers.kube_scheduler import answer_kind

MOST = {"preempt": 150, "await": 40, "start": 40, "wait": 20}


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    answer, kind = line["answer"], answer_kind(line["answer"])
    found = {"workload": answer["workload"], "action": kind, "victims": answer["victims"]}
    if kind in ("preempt", "start"):
        found["node"] = answer["node"] or answer["nominated"]
    name = f"kubernetes-{line['seed']}-{answer['workload']}"
    return {"id": name, "kind": "one-pod", "cluster": line["file"], "answers": [found]}


def main(source: Path, target: Path) -> None:
    taken: Counter[str] = Counter()
    rows = []
    for text in source.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        kind = answer_kind(line["answer"])
        if line["verdict"] != "tie" and taken[kind] < MOST[kind]:
            taken[kind] += 1
            rows.append(json.dumps(row_of(line)))
    with gzip.GzipFile(target, "wb", mtime=0) as out:
        out.write("".join(f"{row}\n" for row in rows).encode())
    print(dict(taken))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
