"""The exact answer to a question: the best victim set there is, and the proof that nothing is better."""

from cede.doctrines.parts.exact.answering import solve
from cede.doctrines.parts.exact.solved import TOLERANCE, Seconds, Solved

__all__ = ["TOLERANCE", "Seconds", "Solved", "solve"]
