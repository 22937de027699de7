"""Asks for a minute when a hint comes; then `saves` once what it was granted is over, or `forgets` to."""

import sys
import time

import cede.checkpoint

with cede.checkpoint.listening() as ck:
    print("ready", flush=True)
    ck.wait(60)
    ck.defer(60)
    print("deferred", flush=True)
    if sys.argv[1] == "forgets":
        time.sleep(60)
    ck.wait(60)
    ck.write("state", b"")
    print("saved", flush=True)  # before the answer: whoever gave it is told to go
    ck.done()
    time.sleep(60)
