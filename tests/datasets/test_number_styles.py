"""What dots and commas mean."""

import pytest

from drsvm.datasets.kinds import AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS, styles_of
from drsvm.datasets.values import Style

GERMAN, ENGLISH, BLANK = ["1.326", "312"], ["1,326", "312"], ["1 326", "312"]


def style(values, *others, points=False, decimal=None):
    texts = {"column": values, **{str(place): other for place, other in enumerate(others)}}
    return styles_of(texts, points, decimal)["column"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (GERMAN, AMBIGUOUS_DOTS),
        (ENGLISH, AMBIGUOUS_COMMAS),
        (BLANK, Style.THOUSANDS),
        (["1 326.5"], Style.THOUSANDS),
        (["1 326,5"], Style.DECIMAL_COMMA),
        (["1.234.567", "312"], Style.DECIMAL_COMMA),
        (["1.250", "2.125", "3"], Style.PLAIN),  # three decimals, and nothing of three digits without a dot
        (["0.125", "312"], Style.PLAIN),  # thousands do not start with 0
        (["1.326", "2.5", "312"], Style.PLAIN),
        (["1.326", "1326", "312"], Style.PLAIN),
        (["1.326 €", "312 €"], AMBIGUOUS_DOTS),
    ],
)
def test_a_column_alone(values, expected):
    assert style(values) == expected


def test_what_another_column_shows():
    assert style(GERMAN, ["55,08"]) == style(ENGLISH, ["55,08"]) == Style.DECIMAL_COMMA
    assert style(ENGLISH, BLANK) == AMBIGUOUS_COMMAS
    assert (style(GERMAN, points=True), style(ENGLISH, points=True)) == (Style.PLAIN, Style.THOUSANDS)
    assert (style(GERMAN, ["55,08"], points=True), style(ENGLISH, ["5,8"], points=True)) == (
        AMBIGUOUS_DOTS,
        AMBIGUOUS_COMMAS,
    )


def test_what_the_user_says():
    assert style(GERMAN, decimal=",") == style(ENGLISH, decimal=",") == style(["1.250", "3"], decimal=",")
    assert style(GERMAN, decimal=",") == Style.DECIMAL_COMMA
    assert (style(GERMAN, decimal="."), style(ENGLISH, decimal=".")) == (Style.PLAIN, Style.THOUSANDS)
    assert style(["0.5"], decimal=",") == Style.PLAIN
