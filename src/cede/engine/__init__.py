"""The cycle that turns a state into a plan, commits the plan and acts on it, for simulator and live controller alike.

Here are the clock, the lifecycle, the events, and the check of every plan by code that did not make it.
What a doctrine would choose belongs to the doctrine; what is printed belongs to the commands.
"""
