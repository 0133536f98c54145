"""CSV files: delimiters, headers, quotes and line breaks."""

import pytest
from file_contents import TABLE, check_error

from drsvm.tables import ReadOptions, Schema, read, read_like
from drsvm.tables.files import HEAD_BYTES, head_and_format


def test_a_table(write):
    data = read(write("data.csv", TABLE))
    assert [str(kind) for kind in data.X.schema.types] == ["double", "double"]
    assert data.X.to_pydict() == {"a": [1, 3, 5], "b": [2.5, 4, 6]}
    assert data.y.tolist() == ["yes", "no", "yes"]
    assert data.schema == Schema("table", 2, "label", ["a", "b"])
    assert any(
        "'label' is used as the label (by its name)" in note for note in data.notes
    )


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
def test_the_delimiter_is_found(write, delimiter):
    data = read(write("data.csv", TABLE.replace(",", delimiter)))
    assert data.shape == (3, 2) and data.schema.columns == ["a", "b"]


def test_spaces_in_texts_are_not_delimiters(write):
    text = "one two,three four five,label\n1,2,so so la la la\n3,4,no\n"
    data = read(write("data.csv", text), ReadOptions(label="-1"))
    assert data.schema.columns == ["one two", "three four five"]
    text = "first name,a long name,label\n" + 2 * "aa bb,cc dd ee,x\nbb cc,dd ee ff,y\n"
    assert read(write("data.csv", text)).shape == (4, 2)


def test_a_first_line_of_a_megabyte(write):
    names = [
        f"a feature with a {400 * 'very '}long name, number {k}" for k in range(500)
    ]
    quoted = ",".join(f'"{name}"' for name in names)
    assert len(quoted) > 1_000_000
    data = read(
        write("data.csv", f"{quoted},label\n" + "1," * 500 + "x\n" + "2," * 500 + "y\n")
    )
    assert data.schema.columns == names and data.shape == (2, 500)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a" * 300_000 + ",b,label\n1,2,x\n3,4,y\n", 1),
        ("x" * 300_000, 1),
        ("\na,b,label\n1,2,x\n3," + "4" * 300_000 + ",y\n5,6,x\n", 4),
        ('a,b,label\n1,2,x\n3,"' + "4" * 300_000 + '",y\n5,6,x\n', 3),
        ("a,b,label\n1,2,x\n" + "3," * 150_000 + "y\n", 3),
    ],
    ids=["names", "no line break", "a cell", "a quoted cell", "many cells"],
)
def test_a_line_that_is_too_long_is_not_parsed(write, monkeypatch, text, line):
    for module in ("files", "csv_files"):
        monkeypatch.setattr(f"drsvm.tables.{module}.LONGEST_LINE", 1 << 17)
    path = write("data.csv", text)
    assert len(head_and_format(path, "csv")[0]) <= HEAD_BYTES + (1 << 17)
    monkeypatch.setattr(
        "csv.reader", lambda *_, **__: pytest.fail("parsed")
    ) if line == 1 else None
    check_error(rf"line {line} is longer than .*: is a line break missing", read, path)


def test_many_lines_are_not_one_that_is_too_long(write, monkeypatch):
    """Also with the line ends of an old Macintosh."""
    for module in ("files", "csv_files"):
        monkeypatch.setattr(f"drsvm.tables.{module}.LONGEST_LINE", 1 << 10)
    for end in ("\n", "\r\n", "\r"):
        text = end.join(
            ["a,b,label", *(f"{k % 13},{k % 7},{'xy'[k % 2]}" for k in range(2000)), ""]
        )
        assert read(write("data.csv", text)).shape == (2000, 2)


def test_quotes_blank_lines_and_a_byte_order_mark(write):
    text = '\ufeff"a, first",b,label\r\n\r\n"1",2,"no, no"\r\n3,4,"yes, ""so"""\r\n'
    data = read(write("data.csv", text))
    assert data.schema.columns == ["a, first", "b"]
    assert data.y.tolist() == ["no, no", 'yes, "so"']


def test_a_file_without_names(write):
    data = read(write("data.csv", "1,2,0\n3,4,1\n"))
    assert (
        data.schema.columns == ["column0", "column1"] and data.schema.label == "column2"
    )
    assert "has only numbers" in data.notes[0]
    data = read(
        write("data.csv", "x,2,0\ny,4,1\n"), ReadOptions(header=False, drop=("0",))
    )
    assert data.schema.columns == ["column1"] and data.shape == (2, 1)


@pytest.mark.parametrize(
    "content", [TABLE.replace("\n", "\r"), f"\n\r\n{TABLE}", f"\ufeff\n{TABLE}"]
)
def test_line_ends_and_blank_lines_before_the_header(write, content):
    data = read(write("data.csv", content))
    assert data.X.to_pydict() == {
        "a": [1, 3, 5],
        "b": [2.5, 4, 6],
    } and data.y.tolist() == ["yes", "no", "yes"]


def test_names_over_several_lines(write):
    data = read(
        write("data.csv", '"height\r\n(cm)",b,"la\nbel"\n1,2,x\n3,4,y\n'),
        ReadOptions(label="la bel"),
    )
    assert data.X.to_pydict() == {"height (cm)": [1, 3], "b": [2, 4]}
    assert data.y.tolist() == ["x", "y"]
    new = write("new.csv", '"height\n(cm)",b\n1,2\n3,oops\n')
    check_error(
        r"column 'b' contains the text 'oops' \(line 4\)", read_like, new, data.schema
    )
    # And texts that are not used
    content = 'a,remark,label\n1,"one\ntwo",x\n3,none,y\n'
    assert read(
        write("data.csv", content), ReadOptions(drop=("remark",))
    ).X.to_pydict() == {"a": [1, 3]}
