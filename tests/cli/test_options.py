"""Options, and errors in them."""

import re

import pytest

import drsvm


def test_help_shows_the_defaults_of_the_estimator(drsvm_command):
    shown = " ".join(re.sub(r"[│\n]", " ", drsvm_command("fit", "--help")[1]).split())
    assert "or auto. Default: auto." in shown
    assert f"for every class. Default: {drsvm.WassersteinSVC().flip_cost:g}." in shown


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--label", "kond"], "did you mean 'kind'?"),
        (["--radius", "-1"], "radius must be finite and at least 0"),
        (["--radius", "big"], "--radius must be a number or auto"),
        (["--norm", "3"], "--norm must be one of 1, 2, inf"),
        (["--flip-cost", "-2"], "flip_cost must be at least 0"),
        (["--tol", "-1"], "tol must be a number"),
        (["--solver", "magic"], "--solver must be one of auto, interior-point"),
        (["--missing", "zero"], "--missing must be one of fill, drop, error"),
        (["--format", "xls"], "--format must be one of csv, parquet, svmlight"),
        (["--class-weight", "heavy"], "--class-weight must be one of auto, balanced, none"),
        (["--test-size", "0.3", "--test", "x.csv"], "use --test or --test-size, not both"),
        (["--test-size", "0.001"], "--test-size 0.001"),
        (["--test-size", "5000"], "--test-size 5000"),
        (["--test", "missing.csv"], "missing.csv: no such file"),
        (["--delimiter", ";"], "the delimiter seems to be a comma."),
        (["--radius"], "requires an argument"),
        (["--nonsense"], "No such option"),
    ],
)
def test_bad_options(drsvm_command, table, tmp_path, arguments, expected):
    code, out, err = drsvm_command("fit", table, "--model", tmp_path / "m.drsvm", *arguments)
    assert code == 2 and out == ""
    assert expected in re.sub(r"\s*\n?[│]?\s+", " ", err)
    assert not (tmp_path / "m.drsvm").exists()
