"""Counts, saves when Cede asks for it, and goes on from where it was: the signal protocol with the decorator.

    python examples/checkpoint/count.py 100 0.1

Alone it just counts. As a job it is asked with SIGUSR1 (`--checkpoint manual`, protocol `signal`).
"""

import json
import os
import sys
import time

import cede.checkpoint

target = int(sys.argv[1]) if len(sys.argv) > 1 else 100
step_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1
state = {"count": 0}


def restore(ck: cede.checkpoint.Checkpoint) -> None:
    state.update(json.loads(ck.read("count.json")))
    print(f"resuming from {state['count']}, attempt {ck.attempt}", flush=True)


# The hint may come between any two lines. One number is never half changed; where a state is made of many parts,
# ask `ck.wanted()` at a good moment instead, as train_shm.py does.
@cede.checkpoint.on_hint(restore=restore, exit=True)
def save(ck: cede.checkpoint.Checkpoint) -> None:
    ck.write("count.json", json.dumps(state).encode())
    os.write(1, f"saved {state['count']}\n".encode())  # not print: the program may be in the midst of one


if not save.ck.resuming:
    print("starting from 0", flush=True)

while state["count"] < target:
    time.sleep(step_s)
    state["count"] += 1

print(f"counted to {state['count']}", flush=True)
