"""The commands: parse the arguments, call the layer below, print what it returned.

One file a command. No decision is made here, and nothing here is imported by another layer.
"""
