"""The commands that need a running server, and the one that is the server.

One file a command; beside them how a server is reached, and how its answers are written for people.
"""
