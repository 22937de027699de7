"""Programs of a few lines that answer, or do not answer, what a scheduler asks of them."""

SAVES = {"mode": "manual", "protocol": "signal"}
"""How a workload says that it answers hints by signal."""

_PUT = 'put() { printf "%s" "$2" >"$CEDE_CONTROL_DIR/.$1" && mv "$CEDE_CONTROL_DIR/.$1" "$CEDE_CONTROL_DIR/$1"; }'
_HINT = 'sed "s/.*\\"hint\\": *\\([0-9]*\\).*/\\1/" "$CEDE_CONTROL_DIR/hint"'
_REST = "echo ready $CEDE_ATTEMPT $CEDE_RESUME; while :; do sleep 300 & wait $!; done"


def answering(answer: str) -> str:
    """A program that does this when a hint comes, and works on without end; `$hint` is the hint's number."""
    return (
        f"{_PUT}; answer() {{ trap '' USR1; hint=$({_HINT}); {answer}; trap answer USR1; }}; trap answer USR1; {_REST}"
    )


STEPS = 'echo "$hint" >>"$CEDE_CHECKPOINT_DIR/saved"'
SAVING = answering(f'{STEPS}; put done "$hint"')
"""Saves when asked, and goes on until it is told to go."""
ENDING = (
    f"if [ $CEDE_RESUME = 1 ]; then echo resumed $CEDE_ATTEMPT; cat $CEDE_CHECKPOINT_DIR/saved; exit 0; fi; {SAVING}"
)
"""The same, but once it resumes it ends well."""
SILENT = "trap '' USR1; echo ready; exec sleep 300"
DEAF = "trap '' USR1 TERM; echo ready; exec sleep 300"
POLITE = "trap 'echo bye; exit 3' TERM; sleep 300 & echo ready; wait"
SLEEPS = "echo ready; exec sleep 300"
LET_GO = 'until [ -e "$CEDE_CHECKPOINT_DIR/go" ]; do sleep 0.02; done'
"""Waits until the test lets it go."""
SLOWLY = answering(f'put progress "$hint 0.1"; {LET_GO}; put done "$hint"')
"""Answers a hint, and has saved when it is let go."""
SLOW_TO_GO = f"trap '{LET_GO}; exit 0' TERM; sleep 300 & echo ready; wait"
"""When it is told to go, it goes when it is let go."""
