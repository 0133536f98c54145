"""Messages with options, and the corrected command."""

import shlex

import pytest

from drsvm.cli.screen import ARGUMENTS, corrected_command, in_options
from drsvm.messages import Message, Parameter


@pytest.mark.parametrize(
    ("given", "fix", "expected"),
    [
        ("fit a.csv", Parameter("drop", "my id"), "fit a.csv --drop 'my id'"),
        ("fit a.csv --drop b", Parameter("drop", "b"), "fit a.csv --drop b"),
        ("fit a.csv --label lbel --cv", Parameter("label", "label", "lbel"), "fit a.csv --label label --cv"),
        ("fit a.csv --label=lable", Parameter("label", "label", "lable"), "fit a.csv --label label"),
        ("fit a.csv --drop b,cc,d", Parameter("drop", "c", "cc"), "fit a.csv --drop b,c,d"),
        ("fit a.csv --drop 'a,b'", Parameter("drop", "ab", "a,b"), "fit a.csv --drop ab"),
        ("fit a.csv --drop y --cv", Parameter("drop", "", "y"), "fit a.csv --cv"),
        ("fit a.csv", Parameter("missing", "fill", "error"), "fit a.csv --missing fill"),
    ],
)  # fmt: skip
def test_corrected_commands(given, fix, expected):
    token = ARGUMENTS.set(tuple(shlex.split(given)))
    try:
        assert corrected_command([fix]) == f"drsvm {expected}"
        assert corrected_command([]) is None
    finally:
        ARGUMENTS.reset(token)


def test_parameters_in_messages_are_options():
    message = Message("{}, {} or {}", Parameter("max_time"), Parameter("drop", "my id"), Parameter("WassersteinSVCCV"))
    expected = "--max-time, --drop 'my id' or --cv"
    assert in_options(message) == in_options(UserWarning(message)) == in_options(ValueError(message)) == expected
    assert in_options("as it is") == "as it is" and "No such" in in_options(OSError(2, "No such file"))
