"""The exact answer to a question: the best victim set there is, and the proof that nothing is better."""

from cede.doctrines.parts.exact.by_cost import solve
from cede.doctrines.parts.exact.solution import TOLERANCE, Seconds, Solution

__all__ = ["TOLERANCE", "Seconds", "Solution", "solve"]
