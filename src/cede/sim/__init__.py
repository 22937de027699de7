"""Replay in virtual time: traces in, the engine that runs live over them, tables and reports out.

Here: readers of traces, the virtual machine, records, measures, comparison. Not here: any rule for choosing victims,
and anything that touches a real process.
"""
