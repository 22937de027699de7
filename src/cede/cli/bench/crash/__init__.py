"""`cede bench crash`: a server is killed at random moments, and what its jobs saw is held against its records.

The stream of jobs, the killing and the audit belong here. Nothing of Cede is altered for it: the server is the one that
everybody runs, and the jobs keep their own evidence where Cede never looks.
"""
