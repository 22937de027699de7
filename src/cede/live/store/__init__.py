"""What survives: every workload, transition, decision and fact, in one database.

`store.py` is what the rest of Cede uses. Statements, forms of rows and migrations belong here; what they mean does not.
"""
