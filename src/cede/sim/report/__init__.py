"""The report of a comparison, or of one replay: a single HTML page that needs nothing else, and its JSON.

`gathering.py` makes a `Content` from results and measures; `page.py` makes the page from the content alone. Nothing is
measured here.
"""

from cede.sim.report.files import write_json, write_report

__all__ = ["write_json", "write_report"]
