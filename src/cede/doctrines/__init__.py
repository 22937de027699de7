"""The ways to choose who yields: one package a doctrine, unaware of each other.

What two doctrines use is in `parts`; what one uses stays with that one.
A doctrine reads the state and proposes. It asks no clock, draws no lots and commits nothing.
"""
