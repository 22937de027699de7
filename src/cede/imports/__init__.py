"""Objects of other systems as cluster files: one package a system, unaware of each other; what they share is here.

An importer takes plain data and returns plain data. What it cannot carry over becomes a note that names object, path
and reason; what it cannot understand becomes an error. Nothing here reads a file, decides, or knows of the state.
"""
