"""Every run of the tests draws the same examples, unless another Hypothesis profile is asked for."""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile("explore", max_examples=2000, deadline=None, print_blob=True)
settings.load_profile("repeatable")
