"""The Backend.AI doctrine: its settings, its rules and its decision.

Only what this doctrine alone needs belongs here. It imports the shared parts and no other doctrine.
"""
