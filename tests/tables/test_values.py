"""Conversion of texts to numbers, booleans and labels, and what dots and commas mean."""

import pytest
from file_contents import TABLE, check_error

from drsvm.tables import ReadOptions, read, read_like
from drsvm.tables.cell_styles import Style
from drsvm.tables.decimal_signs import AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS, styles_of


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["+1", "-1"], [1, -1]),
        (["1.0", "0.0"], [1, 0]),
        (["True", "false"], [True, False]),
        (["true", "maybe"], ["true", "maybe"]),
        (["a ", " b"], ["a", "b"]),
        *(
            (texts, texts)
            for texts in (
                ["1", "b"],
                ["01", "1"],
                ["007", "010"],
                ["1", "1.0", "2"],
                ["1_0", "2"],
            )
        ),
        (["9007199254740993", "1"], ["9007199254740993", "1"]),
    ],
)
def test_labels_become_numbers_unless_information_is_lost(write, texts, labels):
    lines = "".join(f"{k},{text}\n" for k, text in enumerate(texts))
    assert read(write("data.csv", f"a,label\n{lines}")).y.tolist() == labels


def test_decimal_commas_in_a_file_for_a_model(write):
    schema = read(write("data.csv", TABLE)).schema
    new = write("new.csv", "a;b\n1;2,5\n")
    check_error(
        r"column 'b' contains the text '2,5' \(line 2\), but the model needs num",
        read_like,
        new,
        schema,
    )


NUMBERS = {
    "number": (["1", "-2.5", "1e3", "+4"], [1, -2.5, 1000, 4]),
    "signs": (["$1.50", "3 %", "€ 7", "2"], [1.5, 3, 7, 2]),
    "decimal comma": (["1,5", "2", "1.234,25", "1 234,5"], [1.5, 2, 1234.25, 1234.5]),
    "thousands separators": (["1,234,567", "99", "1,234.5"], [1234567, 99, 1234.5]),
    "true or false": (["Yes", "no", "YES", "No"], [1, 0, 1, 0]),
    "date": (["1970-01-02", "1970-01-03 12:00", "1970-01-04T00:00:00Z"], [1, 2.5, 3]),
    "time of day": (["06:30", "23:00", "7:15:36"], [6.5, 23, 7.26]),
    "date %d.%m.%Y": (["02.01.1970", "13.01.1970"], [1, 12]),
    "date %m/%d/%Y": (["01/02/1970", "01/13/1970"], [1, 12]),
    "date %d/%m/%Y %H:%M": (["02/01/1970 12:00", "13/01/1970 00:00"], [1.5, 12]),
}


@pytest.mark.parametrize("style", NUMBERS)
def test_styles_of_numbers(write, style):
    texts, expected = NUMBERS[style]
    rows = "".join(f'"{text}",{k % 2}\n' for k, text in enumerate(texts))
    data = read(write("data.csv", f"a,label\n{rows}"), ReadOptions(label="label"))
    assert data.X.column("a").to_pylist() == pytest.approx(expected)
    known = {} if style in ("number", "signs") else {"a": style}
    assert data.schema.styles == known


@pytest.mark.parametrize("word", ["", "?", "NA", "n/a", "NaN", "null", "None", "  "])
def test_words_for_missing_values(write, word):
    data = read(write("data.csv", f"a,town,label\n1,x,0\n{word},{word},1\n2,y,0\n"))
    assert data.X.to_pydict() == {"a": [1, None, 2], "town": ["x", None, "y"]}


def test_further_words_for_missing_values(write):
    path = write("data.csv", "a,town,label\n1,x,0\n-9,unknown,1\n2,y,0\n")
    data = read(path, ReadOptions(missing_values=("-9", "unknown")))
    assert data.X.to_pydict() == {"a": [1, None, 2], "town": ["x", None, "y"]}
    again = read_like(write("new.csv", "a,town\n-9,unknown\n"), data.schema)
    assert again.X.to_pydict() == {"a": [None], "town": [None]}


def test_ambiguous_commas_take_their_meaning_from_the_file(write, error_for):
    ambiguous = "a;b;label\n1,234;{};0\n5,678;{};1\n"
    for other, meaning in (
        (("1,5", "2,25"), [1.234, 5.678]),
        (("1.5", "2.25"), [1234, 5678]),
    ):
        assert (
            read(write("data.csv", ambiguous.format(*other))).X.column("a").to_pylist()
            == meaning
        )
    assert "may separate thousands or decimals" in error_for(
        "data.csv", ambiguous.format("1", "2")
    )
    for decimal, meaning in ((",", [1.234, 5.678]), (".", [1234, 5678])):
        data = read(
            write("data.csv", ambiguous.format("1", "2")), ReadOptions(decimal=decimal)
        )
        assert data.X.column("a").to_pylist() == meaning


def test_categories_and_numbers_by_request(write):
    """The same levels, however a program writes them."""
    data = read(
        write("data.csv", "a,label\n1,0\n2.0,1\n03,0\n,1\n1.50,1\n"),
        ReadOptions(categorical=("a",)),
    )
    assert data.X.column("a").to_pylist() == ["1", "2", "3", None, "1.5"]
    data = read(
        write("data.csv", "a,label\n1,0\nfew,1\nmany,0\n5,1\n"),
        ReadOptions(numeric=("a",)),
    )
    assert data.X.column("a").to_pylist() == [1, None, None, 5]
    assert read_like(write("new.csv", "a,b\nmany,1\n2,1\n"), data.schema).X.column(
        "a"
    ).to_pylist() == [None, 2]


GERMAN = ["1.326", "312"]
ENGLISH = ["1,326", "312"]
BLANK = ["1 326", "312"]


def style(values, *others, points=False, decimal=None):
    texts = {
        "column": values,
        **{str(place): other for place, other in enumerate(others)},
    }
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
        (
            ["1.250", "2.125", "3"],
            Style.PLAIN,
        ),  # three decimals, and nothing of three digits without a dot
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
    assert (style(GERMAN, points=True), style(ENGLISH, points=True)) == (
        Style.PLAIN,
        Style.THOUSANDS,
    )
    assert style(GERMAN, ["55,08"], points=True) == AMBIGUOUS_DOTS
    assert style(ENGLISH, ["5,8"], points=True) == AMBIGUOUS_COMMAS


def test_what_the_user_says():
    assert (
        style(GERMAN, decimal=",")
        == style(ENGLISH, decimal=",")
        == style(["1.250", "3"], decimal=",")
    )
    assert style(GERMAN, decimal=",") == Style.DECIMAL_COMMA
    assert (style(GERMAN, decimal="."), style(ENGLISH, decimal=".")) == (
        Style.PLAIN,
        Style.THOUSANDS,
    )
    assert style(["0.5"], decimal=",") == Style.PLAIN
