"""Readers of traces that others publish or write: one module a format, named for it.

Here: what is taken from which column, and sentences on what is missing or assumed. Not here: how text becomes columns
(`traces/table.py`), and what holds for every trace (`traces/assembly.py`).
"""
