"""Rows with empty cells, cells that need a decision, and files that cannot be used: errors name place and remedy."""

import numpy as np
import pytest
from file_contents import SPARSE, TABLE, check_error

from drsvm.tables import DataFileError, ReadOptions, read, read_like

GAPPY = "a,b,label\n1,,x\nNA,4,y\n5,6,x\n"


def test_missing_values(write):
    path = write("data.csv", GAPPY)
    filled = read(path)
    assert filled.X.to_pydict() == {"a": [1, None, 5], "b": [None, 4, 6]}
    dropped = read(path, ReadOptions(missing="drop", numeric=("a", "b")))
    assert dropped.X.to_pydict() == {"a": [5], "b": [6]} and dropped.rows.tolist() == [
        2
    ]
    assert any("2 of 3 rows have missing values" in note for note in dropped.notes)


def test_a_model_treats_empty_cells_as_in_its_training(write):
    whole = write("data.csv", "a,b,label\n1,2,x\n3,4,y\n")
    gappy = write("new.csv", "a,b\n1,\n3,4\n")
    strict = read(whole, ReadOptions(missing="error")).schema
    check_error("column 'b' has an empty cell at line 2", read_like, gappy, strict)
    assert read_like(gappy, strict, ReadOptions(missing="drop")).rows.tolist() == [1]
    assert read_like(
        gappy, read(whole, ReadOptions(missing="drop")).schema
    ).rows.tolist() == [1]


def test_rows_without_a_label_are_left_out(write):
    data = read(write("data.csv", "a,b,label\n1,2,x\n3,4,\n5,6,y\n"))
    assert data.rows.tolist() == [0, 2] and data.y.tolist() == ["x", "y"]
    assert any(
        "1 of 3 rows has no label and is left out" in note for note in data.notes
    )


def test_verified_labels(write, error_for):
    rows = "1,2,x,yes\n3,4,y,no\n5,6,x,\n7,9,,yes\n"
    data = read(
        write("data.csv", f"a,b,label,checked\n{rows}"),
        ReadOptions(label="label", verified="checked"),
    )
    assert data.verified.tolist() == [True, False, False] and data.schema.columns == [
        "a",
        "b",
    ]
    for cell, expected in (
        ("perhaps", "must contain yes or no"),
        ("3", "contains other numbers"),
    ):
        other = f"a,b,label,checked\n1,2,x,{cell}\n3,4,y,0\n"
        assert expected in error_for(
            "data.csv", other, label="label", verified="checked"
        )


@pytest.mark.thorough
def test_a_table_of_a_million_cells_of_text_is_read_at_once(write):
    """Types are guessed from the whole file: the only text is in the last row."""
    rows = "".join(f"{k},{k % 2}\n" for k in range(100_000))
    check_error(
        r"the text 'oops' \(line 100002\)",
        read,
        write("data.csv", f"a,label\n{rows}oops,1\n"),
    )
    data = read(write("data.csv", f"a,label\n{rows}\n"), ReadOptions(numeric=("a",)))
    np.testing.assert_array_equal(data.X.column("a"), np.arange(100_000))


def test_cells_may_span_several_lines(write):
    lines = "".join(
        f'{k},"Main St {k % 3}\nOslo, Norway",{"xy"[k % 2]}\n' for k in range(60)
    )
    data = read(
        write("data.csv", f"a,t,label\n{lines}".replace("Oslo, Norway", "Oslo"))
    )
    assert (
        data.schema.styles == {"t": "category"}
        and data.X.column("t")[0].as_py() == "Main St 0\nOslo"
    )
    wide = "".join(
        f'{k},{k % 7},{"xy"[k % 2]},"Main St {k % 3}\nOslo, Norway"\n'
        for k in range(60)
    )
    data = read(write("data.csv", f"a,b,label,t\n{wide}"), ReadOptions(label="label"))
    assert data.X.column("t")[0].as_py() == "Main St 0\nOslo, Norway"


def test_accountants_numbers(write):
    """A dash is an empty cell, brackets and a minus before the currency are negative."""
    cells = ["-", "(1,326)", "$1,326", "-$12", "(20.5)"] * 12
    content = "".join(
        f'"{cell}",{k % 7}.5,{"xy"[k % 2]}\n' for k, cell in enumerate(cells)
    )
    data = read(write("data.csv", f"sales,rate,label\n{content}"))
    assert data.schema.styles == {"sales": "thousands separators"}
    assert data.X.column("sales").to_pylist()[:5] == [
        None,
        -1326.0,
        1326.0,
        -12.0,
        -20.5,
    ]


def test_texts_among_numbers_with_separators(write, error_for):
    cells = ["1,326" if k % 5 else f"none {k}" for k in range(60)]
    content = "a,b,label\n" + "".join(
        f'"{cell}",{k % 7}.5,{"xy"[k % 2]}\n' for k, cell in enumerate(cells)
    )
    assert "while 48 of 60 values are numbers" in error_for("data.csv", content)
    data = read(write("data.csv", content), ReadOptions(numeric=("a",)))
    assert data.schema.styles["a"] == "thousands separators or empty"
    assert data.X.column("a").to_pylist()[:2] == [None, 1326.0]


def test_infinite_values_of_both_signs(write):
    content = (
        "a,b,label\n"
        + "".join(f"{k},{k % 3},{'xy'[k % 2]}\n" for k in range(30))
        + "1,inf,x\n1,-inf,y\n"
    )
    with pytest.raises(DataFileError) as error:
        read(write("data.csv", content))
    assert [fix[:2] for fix in error.value.fixes] == [
        ("missing_values", "inf"),
        ("missing_values", "-inf"),
    ]


def test_numbers_that_may_be_ids(write):
    rng = np.random.default_rng(0)
    a = rng.permutation(10**6)[:120]
    b = rng.permutation(10**6)[:120]
    lines = "".join(f"{a[k]},{b[k]},{k % 5},{'xy'[k % 2]}\n" for k in range(120))
    data = read(write("data.csv", f"acct,size,c,label\n{lines}"))
    assert data.schema.left_out == {"acct": "an id"}
    assert "all different: size; if such a column is an id, drop it." in data.notes


def test_integers_that_grow_from_row_to_row_are_ids(write):
    steps = np.random.default_rng(0).integers(1, 99, 120)
    for n, expected in ((120, {"a": "an id"}), (99, {})):
        lines = "".join(
            f"{steps[: k + 1].sum()},{k % 5},{'xy'[k % 2]}\n" for k in range(n)
        )
        path = write("data.csv", f"a,c,label\n{lines}")
        assert read(path).schema.left_out == expected
        assert "a" in read(path, ReadOptions(numeric=("a",))).schema.columns


def test_categories_that_may_be_ids(write):
    lines = "".join(
        f"{k % 7},t{max(k - 61, 0)},c{k % 20},{'xy'[k % 2]}\n" for k in range(101)
    )
    assert (
        "most levels are rare: town (40 levels in 101 rows); if such a column is an id,"
        " drop it." in read(write("data.csv", f"a,town,c,label\n{lines}")).notes
    )


def test_labels_that_differ_only_in_case(write):
    lines = "".join(f"{k},{k % 5},{('Yes', 'yes', 'no')[k % 3]}\n" for k in range(60))
    [note] = [
        note
        for note in read(write("data.csv", f"a,b,label\n{lines}")).notes
        if "case" in note
    ]
    assert note.startswith("the labels 'Yes', 'yes' differ only in case")


# Fmt: skip
TABLES = [
    # columns
    (TABLE, {"label": "lable"}, "no column 'lable' (label): did you mean 'label'?"),
    (TABLE, {"label": "zzz"}, "the columns are 'a', 'b', 'label'"),
    (TABLE, {"label": "7"}, "label='7': there are 3 columns, 0 to 2"),
    (TABLE, {"features": ("a", "q")}, "no column 'q' (features)"),
    (TABLE, {"drop": ("a", "b")}, "no feature columns remain"),
    (TABLE, {"features": ("label",)}, "is the label column and cannot be a feature"),
    # lines, delimiters and quotes
    ("a,b,label\n1,2,x\n3,4\n", {}, "line 3 has 2 columns, but the first has 3"),
    (
        "a,b,label\n1,2,x\n3,4,5,y\n",
        {},
        "contain an unquoted ',' (perhaps a decimal comma)?",
    ),
    ("a,b,label\n", {}, "no rows found below the header"),
    (
        TABLE,
        {"delimiter": ";"},
        "with the delimiter semicolon (delimiter): the delimiter seems to be a comma.",
    ),
    ("just some words\n", {"delimiter": ","}, "the delimiter seems to be a blank."),
    ("word\nword\n", {}, "is it a CSV file?"),
    (b"a,b,label\n1,2,caf\xe9\n", {}, "line 2 is not UTF-8 text"),
    ('a,b,label\n1,2,x\n3,4,"y\n5,6,x\n', {}, "line 3: a closing quote is missing"),
    (
        'a,b,label\n1,2,x\n3,4,"y\n5,6,x"\n7,8,x\n',
        {},
        "column 'label' that starts in line 3 spans several",
    ),
    (
        'a,b,label\n1,2,x\n3,4,"y\n5,6,"x"\n"7",8,x\n',
        {},
        "line 3: a closing quote is missing",
    ),
    ('a,"b,label\n1,2,x\n', {}, "line 1: a closing quote is missing"),
    (
        'a,"b,label\n1,2,x\n3,4,"\n5,6,y\n',
        {},
        "in the header spans several lines and contains the delimiter ','",
    ),
    ("   \n", {}, "no rows found"),
    # contents that are not tables
    ("", {}, "is empty"),
    (bytes(range(256)), {}, "contains binary data"),
    (b"\xff\xfea\x00,\x00b\x00\x00\xd8", {}, "is not UTF-16 text, but starts like it"),
    (b"PK\x03\x04rest", {}, "is a zip archive: unpack it"),
    (b"\xd0\xcf\x11\xe0rest", {}, "is an Excel workbook of the old format, or with"),
    # cells
    (
        "a,b,label\n1,2,x\n3,oops,y\n5,6,x\n",
        {},
        "'b' contains the text 'oops' (line 3), while 2 of 3 values",
    ),
    (
        GAPPY,
        {"missing": "error"},
        "column 'b' has an empty cell at line 2 (1 of 3 are empty)",
    ),
    (
        "a,b,label\n1,2,x\n3,4,\n",
        {"missing": "error"},
        "column 'label' has no label at line 3",
    ),
    (
        "a,b,label\n1,,x\n,4,y\n",
        {"missing": "drop", "numeric": ("a", "b")},
        "every row has a missing value",
    ),
    ("a,b,label\n1,2,\n3,4,\n", {}, "no row has a label"),
    ("a,b,label\n1,,x\n1,,y\n", {}, "left out: a (always the same), b (empty)"),
    ("\n\na,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'oops' (line 5)"),
    (
        '\na,t,label\n1,p,x\n3,"q\n5,r",y\n',
        {},
        "column 't' that starts in line 4 spans several lines",
    ),
    # numbers
    (
        "a,b,label\n1,1_0,x\n3,4,y\n5,6,x\n",
        {},
        "column 'b' contains the text '1_0' (line 2)",
    ),
    ("a,b,label\n1,2,x\n3,-inf,y\n", {}, "column 'b' is infinite at line 3"),
    (
        "a,b,label\n1,2,x\n3,-1e308,y\n",
        {},
        "column 'b' is -1e+308 at line 3, which is too large: correct it",
    ),
    ('a,label\n"1,234",x\n"5,678",y\n', {}, "'1,234' (line 2): the comma may separate"),
]

SVMLIGHT = [
    ("1 1:1\n-1 -2:1\n", {}, "line 2: the index -2 is negative"),
    (
        "# note\n1 1:1\n-1 0:1\n",
        {},
        "only line 3 has the index 0: correct it, or use index_base=0",
    ),
    (
        "1 0:1\n-1 0:1\n",
        {"index_base": 1},
        "line 1 has the index 0: correct it, or use index_base=0",
    ),
    (SPARSE + "1 10000000:1\n", {}, "allow it with max_features=10000000"),
    ("1 1:1\n-1 99999999999:1\n", {}, "line 2: the index 99999999999 is too large"),
    ("1 1:1\n-1 3:1 2:1\n", {}, "line 2: the index 2 follows 3"),
    ("1 1:1\n-1 2:nan\n", {}, "line 2: feature 2 is 'nan'"),
    ("1 1:1\n-1 2:1e308\n", {}, "line 2: feature 2 is '1e308'"),
    ("1 1:1\n-1 2:x\n", {}, "line 2: '2:x' is not of the form index:value"),
    ("1 1:1\nnan 2:1\n", {}, "line 2: the label is 'nan'"),
    ("1 1:1\nyes 2:1\n", {}, "line 2: the label 'yes' is not a number"),
    ("1 1:1\n1,2 2:1\n", {}, "several labels per row are not supported"),
    (TABLE, {}, "line 1: the label 'a,b,label' is not a number"),
    ("# only a comment\n", {}, "no rows found"),
    ("1\n-1\n", {}, "no features found"),
    (
        SPARSE,
        {"drop": ("1",)},
        "categorical and numeric do not apply to svmlight files",
    ),
    (SPARSE, {"label": "1"}, "label, features"),
]


@pytest.mark.parametrize(
    ("name", "content", "options", "expected"),
    [
        *(("data.csv", *case) for case in TABLES),
        *(("data.svm", *case) for case in SVMLIGHT),
    ],
)
def test_files_that_cannot_be_used(error_for, name, content, options, expected):
    assert expected in error_for(name, content, **options)
