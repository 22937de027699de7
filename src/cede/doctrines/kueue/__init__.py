"""Kueue 0.20: quotas in cohorts, flavors, classical and fair-sharing preemption.

Here belongs what is Kueue's alone. What another doctrine could use as it stands belongs in `parts`.
"""
