"""The steps that bring a database of any age to the present tables; `migrate.py` runs them.

A revision that was released is never changed. It names its columns itself: the tables of the code move on without it.
"""
