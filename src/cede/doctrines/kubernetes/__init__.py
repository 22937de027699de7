"""Kubernetes' own scheduler: how kube-scheduler places a pod, and whom its default preemption takes for one.

What belongs here is what its documentation and KEPs say and other doctrines do not; the rest is assembled from parts.
"""
