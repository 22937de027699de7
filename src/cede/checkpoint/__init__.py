"""For applications: hear when Cede wants a checkpoint, and answer; outside Cede nothing is ever asked.

    with cede.checkpoint.listening() as ck:
        for step in range(start, steps):
            train(step)
            if ck.wanted():
                ck.write("state", saved(step))
                ck.done()

Only the standard library is imported here; gRPC when the job uses it. What the scheduler does with an answer does not
belong here, and nothing else of Cede is imported.
"""

from __future__ import annotations

from cede.checkpoint.channel import Hint
from cede.checkpoint.checkpoint import Checkpoint, listening
from cede.checkpoint.saver import Saver, on_hint

__all__ = ["Checkpoint", "Hint", "Saver", "listening", "on_hint"]
