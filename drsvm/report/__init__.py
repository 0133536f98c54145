"""A page about a classifier: `make_report` returns a `Report`."""

from drsvm.report.analysis import constant_label
from drsvm.report.computations import analyse
from drsvm.report.inputs import Given
from drsvm.report.page import document, next_step, plain_words
from drsvm.report.report import Report, make_report

# These are public; the other names are for tests.
__all__ = ["Report", "make_report"]
