"""A program that answers hints in the way that its first argument names, for tests."""

import os
import sys
import time

import cede.checkpoint
from cede.checkpoint import Checkpoint


def looping(behaviour: str) -> None:
    """`save`, `defer`, `fail` and `saved` in a loop that asks."""
    with cede.checkpoint.listening(estimate=1.5, interval=60) as ck:
        print("ready", flush=True)
        if behaviour == "saved":
            ck.saved()
        deferred = False
        while not ck.leaving or ck.hint:
            if not ck.wait(30):
                sys.exit("no hint came")
            print(f"wanted {ck.hint} {ck.leaving}", flush=True)
            if behaviour == "defer" and not deferred:
                deferred = True
                ck.defer(float(sys.argv[2]))
            elif behaviour == "fail":
                ck.failed("the disk\nis full")
            else:
                ck.progress(0.25)
                ck.write("state", b"saved")
                ck.done()
                print("done", flush=True)


def hooked(behaviour: str) -> None:
    """`hook`, `hook-exit`, `hook-raise`, `hook-defer` and `hook-own` with the decorator."""
    calls: list[int] = []

    @cede.checkpoint.on_hint(exit=behaviour == "hook-exit")
    def save(ck: Checkpoint) -> None:
        calls.append(ck.hint)
        os.write(1, f"saving {ck.hint}\n".encode())  # it may be called in the midst of a print
        if behaviour == "hook-raise":
            raise OSError("the disk is full")
        if behaviour == "hook-defer" and len(calls) == 1:
            ck.defer(float(sys.argv[2]))
        if behaviour == "hook-own" and len(calls) == 1:
            ck.write("midst", b"")
            os.write(1, b"in the midst\n")
            while not (ck.directory / "go").exists():
                time.sleep(0.01)

    print("ready", flush=True)
    if behaviour == "hook-own":
        save()
    try:
        time.sleep(600)
    finally:
        print("in order", flush=True)


if __name__ == "__main__":
    (hooked if sys.argv[1].startswith("hook") else looping)(sys.argv[1])
