"""YuniKorn: guaranteed queues, fences and the seven laws of preemption, as its design says and as release 1.9 does it.

Queue settings, the numbers of the queue tree, who may be a victim, how a set is chosen, and what checks all that.
"""
