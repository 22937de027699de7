"""A training loop that looks at a flag in shared memory after every step: the context manager.

    python examples/checkpoint/train_shm.py 100 0.1

Looking costs less than a microsecond, so it may be done in the innermost loop.
"""

import json
import sys
import time

import cede.checkpoint

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
step_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.1

with cede.checkpoint.listening() as ck:
    step, loss = 0, 1.0
    if ck.resuming:
        state = json.loads(ck.read("model.json"))
        step, loss = state["step"], state["loss"]
        print(f"resuming from {step}, attempt {ck.attempt}", flush=True)
    else:
        print("starting from 0", flush=True)

    while step < steps:
        time.sleep(step_s)  # forward, backward, update
        step, loss = step + 1, loss * 0.99

        if ck.wanted():
            ck.progress(0.5)  # half of it is written: only worth saying when writing takes long
            ck.write("model.json", json.dumps({"step": step, "loss": loss}).encode())
            ck.done()
            print(f"saved {step}", flush=True)
            if ck.leaving:
                sys.exit()  # or go on until SIGTERM comes

    print(f"trained {step} steps, loss {loss:.4f}", flush=True)
