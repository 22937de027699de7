"""What a cluster is: the document, its quantities, times and names, and what may be wrong with them.

Here belong plain values and the checks that make them trustworthy. Here belongs nothing that decides, waits, reads a
file, asks the clock or draws a number: the model imports nothing else of ours, and everything else may import it.
Import from the module that holds the idea (`cede.model.document`, `cede.model.quantities`), not from here.
"""
