"""Traces: what was submitted when, how long it ran, and what it asked for, from many formats into one table."""
