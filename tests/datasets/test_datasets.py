"""Readers of files: what they read, what they note, and what they refuse, with place and remedy."""

import bz2
import gzip
import lzma
import os
import sys
import types

import numpy as np
import pytest
from scipy import sparse

from drsvm.datasets import DataFileError, ReadOptions, Schema, read, read_like

TABLE = "a,b,label\n1,2.5,yes\n3,4,no\n5,6,yes\n"
SPARSE = "1 1:0.5 3:2\n-1 2:1\n1 1:4\n"


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file and returns its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def error_for(write):
    """Return a function that writes a file, reads it and returns the error message."""

    def error_for(name, content, **options):
        path = write(name, content)
        with pytest.raises(DataFileError) as caught:
            read(path, ReadOptions(**options))
        message = str(caught.value)
        assert message.startswith(f"{path}: ") and message.endswith((".", "?"))
        return message.removeprefix(f"{path}: ")

    return error_for


@pytest.fixture(params=["with pyarrow", "without pyarrow"])
def with_and_without_pyarrow(request, monkeypatch):
    if request.param == "without pyarrow":
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    else:
        pytest.importorskip("pyarrow")


# --- what is read -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("with_and_without_pyarrow")
class TestTables:
    def test_a_table(self, write):
        data = read(write("data.csv", TABLE))
        assert data.X.dtype == np.float64
        np.testing.assert_array_equal(data.X, [[1, 2.5], [3, 4], [5, 6]])
        assert data.y.tolist() == ["yes", "no", "yes"]
        assert data.schema == Schema("table", 2, "label", ["a", "b"])
        assert any("'label' is used as the label (by its name)" in note for note in data.notes)

    @pytest.mark.parametrize("delimiter", [";", "\t", "|", " "])
    def test_the_delimiter_is_found(self, write, delimiter):
        data = read(write("data.csv", TABLE.replace(",", delimiter)))
        assert data.shape == (3, 2) and data.schema.columns == ["a", "b"]

    def test_spaces_in_texts_are_not_delimiters(self, write):
        data = read(write("data.csv", "one two,three four five,label\n1,2,so so la la la\n"), ReadOptions(label="-1"))
        assert data.schema.columns == ["one two", "three four five"]
        text = "first name,a long name,label\n" + 3 * "aa bb,cc dd ee,x\n"
        assert read(write("data.csv", text), ReadOptions(one_hot=True)).shape == (3, 2)

    def test_a_first_line_of_a_megabyte(self, write):
        names = [f"a feature with a long name, number {k}" for k in range(20_000)]
        quoted = ",".join(f'"{name}"' for name in names)
        data = read(write("data.csv", f"{quoted},label\n" + 2 * ("1," * 20_000 + "x\n")))
        assert data.schema.columns == names and data.shape == (2, 20_000)

    def test_quotes_blank_lines_and_a_byte_order_mark(self, write):
        text = '\ufeff"a, first",b,label\r\n\r\n"1",2,"no, no"\r\n3,4,"yes, ""so"""\r\n'
        data = read(write("data.csv", text))
        assert data.schema.columns == ["a, first", "b"]
        assert data.y.tolist() == ["no, no", 'yes, "so"']

    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            (["1", "0"], [1, 0]),
            (["1.0", "-1"], [1, -1]),
            (["01", "2"], ["01", "2"]),
            (["True", "False"], ["True", "False"]),
            (["a ", " b"], ["a", "b"]),
            (["1", "b"], ["1", "b"]),
        ],
    )
    def test_labels(self, write, texts, expected):
        data = read(write("data.csv", f"a,b,label\n1,2,{texts[0]}\n3,4,{texts[1]}\n"))
        assert data.y.tolist() == expected

    def test_a_file_without_names(self, write):
        data = read(write("data.csv", "1,2,0\n3,4,1\n"))
        assert data.schema.columns == ["column0", "column1"] and data.schema.label == "column2"
        assert "has only numbers" in data.notes[0]
        data = read(write("data.csv", "x,2,0\ny,4,1\n"), ReadOptions(header=False, drop=("0",)))
        assert data.schema.columns == ["column1"] and data.shape == (2, 1)

    def test_booleans_become_numbers(self, write):
        data = read(write("data.csv", "a,b,label\nTRUE,1,0\nfalse,2,1\n"))
        assert data.X[:, 0].tolist() == [1, 0]

    def test_columns_by_name_and_index(self, write):
        text = "id,a,b,c,kind\n1,2,3,4,x\n5,6,7,8,y\n"
        path = write("data.csv", text)
        assert read(path, ReadOptions(label="kind", features=("c", "a"))).X.tolist() == [[4, 2], [8, 6]]
        assert read(path, ReadOptions(label="-1", drop=("id,0,b",))).schema.columns == ["a", "c"]
        assert read(path, ReadOptions(label="0", features=("1,2",))).y.tolist() == [1, 5]

    def test_missing_values(self, write):
        path = write("data.csv", "a,b,label\n1,,x\nNA,4,y\n5,6,x\n")
        dropped = read(path, ReadOptions(missing="drop"))
        assert dropped.X.tolist() == [[5, 6]] and dropped.rows.tolist() == [2]
        assert any("2 of 3 rows have missing values" in note for note in dropped.notes)
        kept = read(path, ReadOptions(missing="median"))
        np.testing.assert_array_equal(kept.X, [[1, np.nan], [np.nan, 4], [5, 6]])

    def test_one_hot(self, write):
        path = write("data.csv", "a,city,label\n1,Rome,x\n2,Oslo,y\n3,Rome,y\n")
        data = read(path, ReadOptions(one_hot=True))
        assert data.schema.feature_names == ["a", "city=Oslo", "city=Rome"]
        assert data.X.tolist() == [[1, 0, 1], [2, 1, 0], [3, 0, 1]]
        other = read_like(write("new.csv", "city,a\nOslo,5\nBonn,6\n"), data.schema)
        assert other.X.tolist() == [[5, 1, 0], [6, 0, 0]] and other.y is None
        assert any("'Bonn'" in note for note in other.notes)

    def test_another_file_is_read_by_column_names(self, write):
        schema = read(write("data.csv", TABLE)).schema
        data = read_like(write("new.csv", "extra;label;b;a\nt;no;1;2\n"), Schema.from_dict(schema.to_dict()))
        assert data.X.tolist() == [[2, 1]] and data.y.tolist() == ["no"]
        with pytest.raises(DataFileError, match=r"there is no column 'b' \(needed by the model\).*'a', 'c'"):
            read_like(write("new.csv", "a,c\n1,2\n"), schema)

    def test_a_column_of_row_numbers_is_noted(self, write):
        rows = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(30))
        data = read(write("data.csv", "customer_id,a,label\n" + rows))
        assert any("--drop customer_id" in note for note in data.notes)

    def test_text_after_a_megabyte_of_numbers_is_found(self, error_for):
        rows = "".join(f"{k},{k % 2}\n" for k in range(200_000))
        assert "'oops' (line 200002)" in error_for("data.csv", f"a,label\n{rows}oops,1\n")


def test_svmlight(write):
    data = read(write("data.svm", "# a comment\n" + SPARSE))
    assert isinstance(data.X, sparse.csr_array) and data.X.indices.dtype == np.int32
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 2], [0, 1, 0], [4, 0, 0]])
    assert data.y.tolist() == [1, -1, 1] and data.schema == Schema("sparse", 3)


def test_svmlight_with_indices_from_zero(write):
    data = read(write("data.svm", "1 0:1 2:2\n-1 0:3\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[1, 0, 2], [3, 0, 0]])
    assert data.schema.index_base == 0 and "start at 0" in data.notes[0]
    assert read(write("data.svm", SPARSE), ReadOptions(index_base=0)).shape == (3, 4)


def test_svmlight_for_a_trained_model(write):
    schema = read(write("data.svm", SPARSE)).schema
    other = read_like(write("new.svm", "1 2:7 9:1\n-1 1:2\n"), schema)
    np.testing.assert_array_equal(other.X.toarray(), [[0, 7, 0], [2, 0, 0]])
    assert "up to index 9" in other.notes[0]
    with pytest.raises(DataFileError, match="is a csv file, but the model was trained on an svmlight file"):
        read_like(write("new.csv", TABLE), schema)
    with pytest.raises(DataFileError, match="line 2 has the index 0"):
        read_like(write("new.svm", "1 1:2\n1 0:1\n"), schema)


@pytest.mark.parametrize("packed", [gzip, bz2, lzma])
@pytest.mark.parametrize("ending", ["svm", "csv"])
def test_compressed_files(write, packed, ending):
    content = (SPARSE if ending == "svm" else TABLE).encode()
    suffix = {gzip: "gz", bz2: "bz2", lzma: "xz"}[packed]
    named = read(write(f"data.{ending}.{suffix}", packed.compress(content)))
    unnamed = read(write("data", packed.compress(content)))
    assert named.shape[0] == unnamed.shape[0] == 3


def test_zstandard_and_parquet(write):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    assert read(write("data.csv.zst", pyarrow.compress(TABLE.encode(), codec="zstd", asbytes=True))).shape == (3, 2)
    table = pyarrow.table({"a": [1, 2], "b": [0.5, None], "c": [True, False], "t": ["u", "v"], "y": ["no", "yes"]})
    path = write("data.parquet", b"")
    parquet.write_table(table, path)
    data = read(path, ReadOptions(missing="median", one_hot=True))
    np.testing.assert_array_equal(data.X, [[1, 0.5, 1, 1, 0], [2, np.nan, 0, 0, 1]])
    assert data.y.tolist() == ["no", "yes"]
    with pytest.raises(DataFileError, match="column 'b' has no value at row 2"):
        read(path, ReadOptions(drop=("t",)))


def test_the_content_decides_and_a_misleading_name_is_noted(write):
    data = read(write("data.csv", SPARSE))
    assert data.schema.kind == "sparse" and "contains svmlight data" in data.notes[0]


@pytest.mark.parametrize("content", [SPARSE, TABLE])
def test_a_missing_last_line_break_is_noted(write, content):
    assert not any("truncated" in note for note in read(write("data", content)).notes)
    assert any("truncated" in note for note in read(write("data", content[:-1])).notes)


def test_a_lonely_far_index_is_noted(write):
    data = read(write("data.svm", SPARSE + "1 123456:1\n"))
    assert data.notes == ["Feature 123456 occurs only in line 4, far from all others: is its index mistyped?"]


@pytest.mark.usefixtures("with_and_without_pyarrow")
class TestUnusualTables:
    @pytest.mark.parametrize("content", [TABLE.replace("\n", "\r"), f"\n\r\n{TABLE}", f"\ufeff\n{TABLE}"])
    def test_line_ends_and_blank_lines_before_the_header(self, write, content):
        data = read(write("data.csv", content))
        np.testing.assert_array_equal(data.X, [[1, 2.5], [3, 4], [5, 6]])
        assert data.y.tolist() == ["yes", "no", "yes"] and data.schema.columns == ["a", "b"]

    def test_names_over_several_lines(self, write):
        data = read(write("data.csv", '"height\r\n(cm)",b,"la\nbel"\n1,2,x\n3,4,y\n'), ReadOptions(label="la bel"))
        assert data.schema.columns == ["height (cm)", "b"] and data.X.tolist() == [[1, 2], [3, 4]]
        assert data.y.tolist() == ["x", "y"]
        new = write("new.csv", '"height\n(cm)",b\n1,2\n3,oops\n')
        with pytest.raises(DataFileError, match=r"column 'b' contains the text 'oops' \(line 4\)"):
            read_like(new, data.schema)

    def test_decimal_commas_in_a_file_for_a_model(self, write):
        schema = read(write("data.csv", TABLE)).schema
        with pytest.raises(DataFileError, match=r"column 'b' contains '2,5' \(line 2\): use decimal points.*1234.5\.$"):
            read_like(write("new.csv", "a;b\n1;2,5\n"), schema)

    def test_unused_texts_may_span_several_lines(self, write):
        content = 'a,remark,label\n1,"one\ntwo",x\n3,none,y\n'
        assert read(write("data.csv", content), ReadOptions(drop=("remark",))).X.tolist() == [[1], [3]]

    def test_an_empty_category_is_noted_if_empty_cells_are_filled(self, write):
        options = ReadOptions(one_hot=True, missing="median")
        data = read(write("data.csv", "a,t,label\n1,p,x\n3,,y\n5,q,x\n"), options)
        np.testing.assert_array_equal(data.X[:, 1:], [[1, 0], [0, 0], [0, 1]])
        note = "Column 't' has 1 empty cells: they belong to none of its categories."
        assert note in data.notes
        path = write("new.csv", "a,t\n1,\n")
        assert note in read_like(path, data.schema, options).notes
        with pytest.raises(DataFileError, match="column 't' has no value at line 2"):
            read_like(path, data.schema)

    @pytest.mark.parametrize(
        ("texts", "labels"),
        [
            (["01", "1", "01"], ["01", "1", "01"]),
            (["007", "010", "010"], ["007", "010", "010"]),
            (["1", "1.0", "2"], ["1", "1.0", "2"]),
            (["1_0", "2", "2"], ["1_0", "2", "2"]),
            (["9007199254740993", "1", "1"], ["9007199254740993", "1", "1"]),
            (["+1", "-1", "+1"], [1, -1, 1]),
            (["1.0", "0.0", "1.0"], [1, 0, 1]),
        ],
    )
    def test_labels_become_numbers_unless_information_is_lost(self, write, texts, labels):
        lines = "".join(f"{k},{text}\n" for k, text in enumerate(texts))
        assert read(write("data.csv", f"a,label\n{lines}")).y.tolist() == labels


def test_integers_of_parquet_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2], "big id": [2**53 + 1, 1], "y": [2**60, 2**60 + 1]}), path)
    with pytest.raises(DataFileError, match=r"data.parquet: column 'big id' .* beyond 2\^53.*--drop 'big id'"):
        read(path)
    data = read(path, ReadOptions(drop=("big id",)))
    assert data.y.tolist() == [str(2**60), str(2**60 + 1)]
    schema = Schema("table", 2, "y", ["t"], {"t": ["1", "2"]})
    for values in ([1, 2], [1.0, 2.0]):
        parquet.write_table(pyarrow.table({"t": values, "y": [1, 0]}), path)
        data = read_like(path, schema)
        np.testing.assert_array_equal(data.X, np.eye(2))
        assert data.y.tolist() == [1, 0]


def test_texts_of_parquet_files_that_are_numbers_or_empty(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.table({"a": ["1", "2"], "y": [0, 1]}), path)
    with pytest.raises(DataFileError, match=r"column 'a' contains the text '1' .*--one-hot"):
        read(path)
    parquet.write_table(pyarrow.table({"a": pyarrow.array([None, None], "string"), "y": [0, 1]}), path)
    with pytest.raises(DataFileError, match="column 'a' is empty"):
        read(path)


# --- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'b' contains the text 'oops' (line 3), while 2 of 3 values"),
        ("a;b;label\n1,5;2;x\n3;4;y\n", {}, "column 'a' contains '1,5' (line 2): use decimal points and no thousands"),
        ("a;b;label\n1,5;2,5;x\n3,0;4;y\n", {}, "'1,5' (line 2) (similarly in 'b'): use decimal points"),
        ('a,b,label\n1,"3,14",x\n3,"-,5e-2",y\n', {}, "column 'b' contains '3,14' (line 2): use decimal points"),
        ('a,b,label\n1,"1,234,567",x\n3,"99",y\n', {}, "'1,234,567' (line 2): use decimal points and no thousands"),
        ("t;b;label\nRome;1.234,5;x\nOslo;4;y\n", {"one_hot": True}, "column 'b' contains '1.234,5' (line 2): use"),
        ("1,5;2,5;3,5;x\n3,0;4,1;6,5;y\n", {"header": False}, "'1,5' (line 1) (similarly in 'column1', 'column2')"),
        ("a;b;label\n1;Rome, Oslo;x\n3;Bonn;y\n", {}, "--one-hot"),
        ("a,b,label\n1,2,x\n3,4,5,y\n", {}, "contain an unquoted ',' (perhaps a decimal comma)?"),
        ("a,t,u,label\n1,p,r,x\n3,q,s,y\n", {}, "'u' also contain text: drop text columns (--drop t --drop u), or"),
        ("a,b,label\n1,2,x\n3,4\n", {}, "line 3 has 2 columns, but the first has 3"),
        ("a,b,label\n1,2,x\n3,4,5,y\n", {}, "line 3 has 4 columns, but the first has 3"),
        (TABLE, {"label": "lable"}, "no column 'lable' (--label): did you mean 'label'?"),
        (TABLE, {"label": "zzz"}, "the columns are 'a', 'b', 'label'"),
        (TABLE, {"label": "7"}, "--label 7: there are 3 columns, 0 to 2"),
        (TABLE, {"features": ("a", "q")}, "no column 'q' (--features)"),
        (TABLE, {"drop": ("a", "b")}, "no feature columns remain"),
        (TABLE, {"features": ("label",)}, "is the label column and cannot be a feature"),
        (TABLE, {"drop": ("label",)}, "is the label column and cannot be dropped"),
        ("a,b,label\n", {}, "no rows found below the header"),
        ("", {}, "is empty"),
        ("a,b,a,label\n1,2,3,x\n", {}, "columns 0 and 2 are both called 'a'"),
        ("a,b,label\n1,,x\n3,4,y\n", {}, "column 'b' has no value at line 2 (1 of 2 values are missing)"),
        ("a,b,label\n1,nan,x\n3,4,y\n", {}, "--missing median"),
        ("a,b,label\n1,2,x\n3,-inf,y\n", {}, "column 'b' is infinite at line 3"),
        ("a,b,label\n1,2,x\n3,4,\n", {}, "line 3 has no label (column 'label')"),
        ("a,b,label\n1,,x\n,4,y\n", {"missing": "drop"}, "every row has a missing value"),
        ("a,b,label\n1,,x\n3,,y\n", {"missing": "median"}, "column 'b' is empty: drop it with --drop b"),
        (TABLE, {"delimiter": ";"}, "with the delimiter semicolon (--delimiter): the delimiter seems to be a comma."),
        ("just some words\n", {"delimiter": ","}, "the delimiter seems to be a blank."),
        ("word\nword\n", {}, "is it a CSV file?"),
        (b"a,b,label\n1,2,caf\xe9\n", {}, "line 2 is not UTF-8 text"),
        (bytes(range(256)), {}, "contains binary data"),
        (b"\xff\xfea\x00,\x00b\x00", {}, "is UTF-16 text"),
        (b"PK\x03\x04rest", {}, "is a zip archive (or an Excel workbook)"),
        ("a,b,label\n1,1_0,x\n3,4,y\n5,6,x\n", {}, "column 'b' contains the text '1_0' (line 2)"),
        ("a,t,label\n1,p,x\n3,,y\n", {"one_hot": True}, "column 't' has no value at line 3 (1 of 2 values are"),
        ('a,b,label\n1,2,x\n3,4,"y\n5,6,x\n', {}, "line 3: a closing quote is missing"),
        ('a,b,label\n1,2,x\n3,4,"y\n5,6,x"\n7,8,x\n', {}, "column 'label' that starts in line 3 spans several"),
        ('a,b,label\n1,2,x\n3,4,"y\n5,6,"x"\n"7",8,x\n', {}, "line 3: a closing quote is missing"),
        ('a,"b,label\n1,2,x\n', {}, "line 1: a closing quote is missing"),
        ('a,"b,label\n1,2,x\n3,4,"\n5,6,y\n', {}, "in the header spans several lines and contains the delimiter ','"),
        ("   \n", {}, "no rows found"),
        ("\n\na,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'oops' (line 5)"),
        ("a,t,label\n" + "".join(f"1,t{k},{k % 2}\n" for k in range(101)), {"one_hot": True}, "101 different texts"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("with_and_without_pyarrow")
def test_invalid_tables(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("1 1:1\n-1 -2:1\n", {}, "line 2: the index -2 is negative"),
        ("# note\n1 1:1\n-1 0:1\n", {}, "only line 3 has the index 0: correct it, or use --index-base 0"),
        ("1 0:1\n-1 0:1\n", {"index_base": 1}, "line 1 has the index 0: correct it, or use --index-base 0"),
        (SPARSE + "1 10000000:1\n", {}, "line 4 has the index 10000000, which gives 10,000,000 features"),
        (SPARSE + "1 10000000:1\n", {}, "allow it with --max-features 10000000"),
        ("1 1:1\n-1 99999999999:1\n", {}, "line 2: the index 99999999999 is too large"),
        ("1 1:1\n-1 3:1 2:1\n", {}, "line 2: the index 2 follows 3"),
        ("1 1:1\n-1 2:nan\n", {}, "line 2: feature 2 is 'nan'"),
        ("1 1:1\n-1 2:inf\n", {}, "line 2: feature 2 is 'inf'"),
        ("1 1:1\n-1 2:x\n", {}, "line 2: '2:x' is not of the form index:value"),
        ("1 1:1\n-1 2:", {}, "line 2: '2:' is not of the form index:value"),
        ("1 1:1\nnan 2:1\n", {}, "line 2: the label is 'nan'"),
        ("1 1:1\nyes 2:1\n", {}, "line 2: the label 'yes' is not a number"),
        ("1 1:1\n1,2 2:1\n", {}, "several labels per row are not supported"),
        (TABLE, {}, "line 1: the label 'a,b,label' is not a number"),
        ("# only a comment\n", {}, "no rows found"),
        ("1\n-1\n", {}, "no features found"),
        (SPARSE, {"drop": ("1",)}, "--drop and --one-hot do not apply to svmlight files"),
        (SPARSE, {"label": "1"}, "--label, --features"),
    ],
)
def test_invalid_svmlight_files(error_for, content, options, expected):
    assert expected in error_for("data.svm", content, **options)


def test_a_large_number_of_features_can_be_allowed(write):
    path = write("data.svm", SPARSE + "1 10000000:1\n")
    assert read(path, ReadOptions(max_features=10**7)).shape == (4, 10**7)


@pytest.mark.parametrize("packed", [gzip, bz2, lzma])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_compressed_files(error_for, packed, share):
    rng = np.random.default_rng(0)
    text = "a,b,label\n" + "".join(f"{x},{y},{k % 2}\n" for k, (x, y) in enumerate(rng.normal(size=(4000, 2))))
    content = packed.compress(text.encode())
    suffix = {gzip: "gz", bz2: "bz2", lzma: "xz"}[packed]
    expected = "is truncated or damaged" if share else "is empty"
    assert expected in error_for(f"data.csv.{suffix}", content[: int(share * len(content))])


def test_truncated_zstandard_and_parquet_files(error_for, write, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    whole = pyarrow.compress((TABLE * 5000).encode(), codec="zstd", asbytes=True)
    assert "is truncated or damaged" in error_for("data.csv.zst", whole[:-20])
    parquet.write_table(pyarrow.table({"a": np.arange(5000), "y": np.arange(5000) % 2}), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    assert "is truncated or damaged" in error_for("data.parquet", content[:1000])
    assert "is not a Parquet file" in error_for("data.parquet", "a,b\n1,2\n")
    parquet.write_table(pyarrow.table({"a": [[1], [2]], "y": [0, 1]}), tmp_path / "data.parquet")
    with pytest.raises(DataFileError, match=r"column 'a' has type list.*: drop it with --drop a"):
        read(tmp_path / "data.parquet")


def test_a_suffix_that_contradicts_the_compression(error_for):
    assert "ends in .gz, but is not compressed" in error_for("data.csv.gz", TABLE)
    assert "ends in .xz, but is compressed as .gz" in error_for("data.csv.xz", gzip.compress(TABLE.encode()))


def test_missing_files_and_folders(write, tmp_path):
    write("train.csv", TABLE)
    with pytest.raises(DataFileError, match=r"no such file; did you mean train\.csv\?"):
        read(tmp_path / "tran.csv")
    with pytest.raises(DataFileError, match=r"no such file\.$"):
        read(tmp_path / "nowhere" / "x.csv")
    with pytest.raises(DataFileError, match="is a folder"):
        read(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_rejected_without_being_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", os.devnull):
        with pytest.raises(DataFileError, match="cannot be read more than once: save it to a file"):
            read(path)


def test_damage_found_by_the_zstd_module_of_python(error_for, monkeypatch):
    class ZstdError(Exception):
        pass

    def damaged(*_):
        raise ZstdError("bad frame")

    zstd = types.ModuleType("compression.zstd")
    vars(zstd).update(ZstdError=ZstdError, open=damaged)
    compression = types.ModuleType("compression")
    vars(compression).update(zstd=zstd)
    monkeypatch.setitem(sys.modules, "compression", compression)
    monkeypatch.setitem(sys.modules, "compression.zstd", zstd)
    assert "is truncated or damaged (bad frame)" in error_for("data.csv.zst", b"\x28\xb5\x2f\xfdrest")


def test_a_file_without_read_permission(write, monkeypatch):
    path = write("data.csv", TABLE)
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser may read everything

        def denied(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(type(path), "open", denied)
    with pytest.raises(DataFileError, match=r"permission denied: change its permissions"):
        read(path)


def test_parquet_and_zstandard_name_the_extra(error_for, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'drsvm[data]'" in error_for("data.parquet", b"PAR1...")
    if sys.version_info < (3, 14):
        assert "pip install 'drsvm[data]'" in error_for("data.csv.zst", b"\x28\xb5\x2f\xfdrest")
