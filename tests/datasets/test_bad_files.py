"""Files that cannot be used: the error names the place, and the remedy."""

import pytest
from file_contents import SPARSE, TABLE

GAPPY = "a,b,label\n1,,x\nNA,4,y\n5,6,x\n"

TABLES = [
    # columns
    (TABLE, {"label": "lable"}, "no column 'lable' (label): did you mean 'label'?"),
    (TABLE, {"label": "zzz"}, "the columns are 'a', 'b', 'label'"),
    (TABLE, {"label": "7"}, "label='7': there are 3 columns, 0 to 2"),
    (TABLE, {"features": ("a", "q")}, "no column 'q' (features)"),
    (TABLE, {"drop": ("a", "b")}, "no feature columns remain"),
    (TABLE, {"features": ("label",)}, "is the label column and cannot be a feature"),
    (TABLE, {"drop": ("label",)}, "is the label column and cannot be dropped"),
    # lines, delimiters and quotes
    ("a,b,label\n1,2,x\n3,4,5,y\n", {}, "contain an unquoted ',' (perhaps a decimal comma)?"),
    ("a,b,label\n1,2,x\n3,4\n", {}, "line 3 has 2 columns, but the first has 3"),
    ("a,b,label\n1,2,x\n3,4,5,y\n", {}, "line 3 has 4 columns, but the first has 3"),
    ("a,b,label\n", {}, "no rows found below the header"),
    (TABLE, {"delimiter": ";"}, "with the delimiter semicolon (delimiter): the delimiter seems to be a comma."),
    ("just some words\n", {"delimiter": ","}, "the delimiter seems to be a blank."),
    ("word\nword\n", {}, "is it a CSV file?"),
    (b"a,b,label\n1,2,caf\xe9\n", {}, "line 2 is not UTF-8 text"),
    ('a,b,label\n1,2,x\n3,4,"y\n5,6,x\n', {}, "line 3: a closing quote is missing"),
    ('a,b,label\n1,2,x\n3,4,"y\n5,6,x"\n7,8,x\n', {}, "column 'label' that starts in line 3 spans several"),
    ('a,b,label\n1,2,x\n3,4,"y\n5,6,"x"\n"7",8,x\n', {}, "line 3: a closing quote is missing"),
    ('a,"b,label\n1,2,x\n', {}, "line 1: a closing quote is missing"),
    ('a,"b,label\n1,2,x\n3,4,"\n5,6,y\n', {}, "in the header spans several lines and contains the delimiter ','"),
    ("   \n", {}, "no rows found"),
    # contents that are not tables
    ("", {}, "is empty"),
    (bytes(range(256)), {}, "contains binary data"),
    (b"\xff\xfea\x00,\x00b\x00", {}, "is UTF-16 text"),
    (b"PK\x03\x04rest", {}, "is a zip archive (or an Excel workbook)"),
    # cells
    ("a,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'b' contains the text 'oops' (line 3), while 2 of 3 values"),
    (GAPPY, {"missing": "error"}, "column 'b' has an empty cell at line 2 (1 of 3 are empty)"),
    ("a,b,label\n1,2,x\n3,4,\n", {"missing": "error"}, "column 'label' has no label at line 3"),
    ("a,b,label\n1,,x\n,4,y\n", {"missing": "drop", "numeric": ("a", "b")}, "every row has a missing value"),
    ("a,b,label\n1,2,\n3,4,\n", {}, "no row has a label"),
    ("a,b,label\n1,,x\n1,,y\n", {}, "left out: a (always the same), b (empty)"),
    ("\n\na,b,label\n1,2,x\n3,oops,y\n5,6,x\n", {}, "'oops' (line 5)"),
    ("\na,t,label\n1,p,x\n3,\"q\n5,r\",y\n", {}, "column 't' that starts in line 4 spans several lines"),
    # numbers
    ("a,b,label\n1,1_0,x\n3,4,y\n5,6,x\n", {}, "column 'b' contains the text '1_0' (line 2)"),
    ("a,b,label\n1,2,x\n3,-inf,y\n", {}, "column 'b' is infinite at line 3"),
    ("a,b,label\n1,2,x\n3,-1e308,y\n", {}, "column 'b' is -1e+308 at line 3, which is too large: correct it"),
    ('a,label\n"1,234",x\n"5,678",y\n', {}, "'1,234' (line 2): the comma may separate"),
]  # fmt: skip

SVMLIGHT = [
    ("1 1:1\n-1 -2:1\n", {}, "line 2: the index -2 is negative"),
    ("# note\n1 1:1\n-1 0:1\n", {}, "only line 3 has the index 0: correct it, or use index_base=0"),
    ("1 0:1\n-1 0:1\n", {"index_base": 1}, "line 1 has the index 0: correct it, or use index_base=0"),
    (SPARSE + "1 10000000:1\n", {}, "line 4 has the index 10000000, which gives 10,000,000 features"),
    (SPARSE + "1 10000000:1\n", {}, "allow it with max_features=10000000"),
    ("1 1:1\n-1 99999999999:1\n", {}, "line 2: the index 99999999999 is too large"),
    ("1 1:1\n-1 3:1 2:1\n", {}, "line 2: the index 2 follows 3"),
    ("1 1:1\n-1 2:nan\n", {}, "line 2: feature 2 is 'nan'"),
    ("1 1:1\n-1 2:inf\n", {}, "line 2: feature 2 is 'inf'"),
    ("1 1:1\n-1 2:1e308\n", {}, "line 2: feature 2 is '1e308'"),
    ("1 1:1\n-1 2:x\n", {}, "line 2: '2:x' is not of the form index:value"),
    ("1 1:1\n-1 2:", {}, "line 2: '2:' is not of the form index:value"),
    ("1 1:1\nnan 2:1\n", {}, "line 2: the label is 'nan'"),
    ("1 1:1\nyes 2:1\n", {}, "line 2: the label 'yes' is not a number"),
    ("1 1:1\n1,2 2:1\n", {}, "several labels per row are not supported"),
    (TABLE, {}, "line 1: the label 'a,b,label' is not a number"),
    ("# only a comment\n", {}, "no rows found"),
    ("1\n-1\n", {}, "no features found"),
    (SPARSE, {"drop": ("1",)}, "categorical and numeric do not apply to svmlight files"),
    (SPARSE, {"label": "1"}, "label, features"),
]


@pytest.mark.parametrize(("content", "options", "expected"), TABLES)
def test_tables(error_for, content, options, expected):
    assert expected in error_for("data.csv", content, **options)


@pytest.mark.parametrize(("content", "options", "expected"), SVMLIGHT)
def test_svmlight_files(error_for, content, options, expected):
    assert expected in error_for("data.svm", content, **options)
