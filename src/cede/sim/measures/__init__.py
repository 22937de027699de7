"""What a replay's tables amount to: measures with their definitions, timelines, what is conserved, what cost most.

Everything here reads a `Tables` and writes nothing. Comparing several replays is in `sim/compare.py`, showing them in
`sim/report` and `cli/sim_view.py`.
"""
