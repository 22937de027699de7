"""A process that holds a LocalExecutor, launches what it is told, prints what is reported, and waits to be killed.

Its arguments: the data directory, then JSON of a task and the names of jobs to launch.
"""

import json
import sys
import threading
from pathlib import Path

from cede.engine.drive.facts import Fact
from cede.engine.drive.orders import Launch
from cede.live.executors.local.executor import LocalExecutor
from cede.live.executors.local.gpus import NodeFacts
from cede.live.task import Task


def report(fact: Fact) -> None:
    print(type(fact).__name__, fact.name, flush=True)  # type: ignore[union-attr]


executor = LocalExecutor(Path(sys.argv[1]), nodes={"n0": NodeFacts()})
executor.open(report)
task = Task.model_validate(json.loads(sys.argv[2]))
print("open", flush=True)
for line in sys.stdin:
    executor.launch(Launch(line.strip(), 1, ("n0",), resume=False), task)
threading.Event().wait()
