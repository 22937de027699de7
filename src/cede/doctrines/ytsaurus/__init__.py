"""YTsaurus: fair shares of a pool tree, starvation, and preemption on a node's heartbeat.

Settings, the shares of the tree, what starves, which allocations are preemptible, and what a heartbeat does with them.
"""
