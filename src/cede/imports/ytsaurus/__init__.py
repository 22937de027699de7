"""YTsaurus: a pool tree, with nodes and operations if given, as a cluster file.

Read are YSON, JSON and YAML. Which options are carried over is what the settings of the doctrine say, so that a new one
needs no change here. Numbers that are durations are milliseconds in YTsaurus, and get their unit here.
"""
