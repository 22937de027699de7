"""A training loop that talks to Cede over gRPC: it says what a checkpoint costs, and may ask for time.

    python examples/checkpoint/train_grpc.py 100 0.1

An epoch has ten steps, and a checkpoint is smallest between two of them.
"""

import json
import sys
import time

import cede.checkpoint

EPOCH = 10

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
step_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1

# Both figures help Cede to choose whom to preempt: what is lost, and how long saving takes.
with cede.checkpoint.listening(estimate=0.5, interval=3 * EPOCH * step_s) as ck:
    step = 0
    if ck.resuming:
        step = json.loads(ck.read("model.json"))["step"]
        print(f"resuming from {step}, attempt {ck.attempt}", flush=True)
    else:
        print("starting from 0", flush=True)

    def save() -> None:
        ck.write("model.json", json.dumps({"step": step}).encode())
        print(f"saved {step}", flush=True)

    deferred = 0
    while step < steps:
        time.sleep(step_s)
        step += 1
        epoch_ends = step % EPOCH == 0

        if ck.wanted() or (epoch_ends and ck.hint):
            if not epoch_ends and ck.hint != deferred:
                # Rather at the end of the epoch. `wanted` is quiet until then, unless Cede grants less.
                ck.defer((EPOCH - step % EPOCH) * step_s)
                deferred = ck.hint
                continue
            save()
            ck.done()
            if ck.leaving:
                sys.exit()
        elif step % (3 * EPOCH) == 0:
            save()
            ck.saved()  # of its own accord: what a preemption would lose is less now

    print(f"trained {step} steps", flush=True)
