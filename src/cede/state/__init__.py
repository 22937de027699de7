"""The cluster in columns: the only mutable thing a decision reads.

Arrays built from the document, the queue tree, and trials that book a change and undo it.
No policy belongs here, and no clock, file or network: `now` is a field of the state.
"""
