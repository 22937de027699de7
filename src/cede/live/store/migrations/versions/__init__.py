"""One module a revision, named for what it brings."""
