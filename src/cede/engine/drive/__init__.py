"""The driver: what happens and what is wanted goes in, transitions, decisions and orders come out.

One piece of code for simulator and live controller, without a clock, a process or a file: time comes with every
fact, and what must be done is returned as orders. What executes and stores them does not belong here.
"""
