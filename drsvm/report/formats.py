"""The formats of a report."""

FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}
"""The format of a file by the end of its name."""
