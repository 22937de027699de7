"""The executor of this machine: real processes, each member under a supervisor that outlives the server.

`guard` is what runs in processes of its own. What decides when something is started or ended does not belong here.
"""
