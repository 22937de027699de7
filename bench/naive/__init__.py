"""Kueue's victim search as a competent person writes it first: plain objects, exact numbers, every share made anew.

`cede bench kueue` runs it as the yardstick. It knows nothing of the columns and shares no code with the doctrine:
a tree of `quota` nodes, the `shares` of its nodes, who is a candidate in which order, and one module a search.
"""
