"""Benchmarks: seeded clusters, and ratios of two timings of one run. Users do not install this."""
