"""A page about a classifier: `make_report` returns a `Report`."""

from drsvm.report.report import Report, make_report

__all__ = ["Report", "make_report"]
