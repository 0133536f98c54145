"""The corrected command."""

import shlex

import pytest

from drsvm.cli.remedy import ARGUMENTS, corrected_command
from drsvm.datasets.files import Fix


@pytest.mark.parametrize(
    ("given", "fix", "expected"),
    [
        ("fit a.csv", Fix(("--drop", "my id")), "fit a.csv --drop 'my id'"),
        ("fit a.csv --drop b", Fix(("--drop", "b")), "fit a.csv --drop b"),
        ("fit a.csv --label lbel --cv", Fix(option="--label", old="lbel", new="label"), "fit a.csv --label label --cv"),
        ("fit a.csv --label=lable", Fix(option="--label", old="lable", new="label"), "fit a.csv --label label"),
        ("fit a.csv --drop b,cc,d", Fix(option="--drop", old="cc", new="c"), "fit a.csv --drop b,c,d"),
        ("fit a.csv --drop 'a,b'", Fix(option="--drop", old="a,b", new="ab"), "fit a.csv --drop ab"),
        ("fit a.csv --drop y --cv", Fix(option="--drop", old="y"), "fit a.csv --cv"),
        ("fit a.csv", Fix(option="--missing", old="error", new="fill"), "fit a.csv --missing fill"),
    ],
)  # fmt: skip
def test_corrected_commands(given, fix, expected):
    token = ARGUMENTS.set(tuple(shlex.split(given)))
    try:
        assert corrected_command([fix]) == f"drsvm {expected}"
        assert corrected_command([]) is None
    finally:
        ARGUMENTS.reset(token)
