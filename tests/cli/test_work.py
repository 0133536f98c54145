"""Steps that several commands share: bad data files, and classes."""

import json

import numpy as np
import pytest
from cli_tables import rows, write_csv

BAD_FILES = {
    "wrong.csv": (b"a,b,label\n1,2,x\n3\n", "line 3 has 1 columns"),
    "text.csv": (b"a,b,label\n1,2,x\n3,oops,y\n4,5,x\n", "'oops' (line 3)"),
    "commas.csv": (b"a;b;label\n1,234;2;x\n3,456;4;y\n", "column 'a' contains '1,234' (line 2): the comma may"),
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"a,b,label\n", "no rows found below the header"),
    "one.csv": (b"a,b,label\n1,2,x\n3,4,x\n", "all 2 rows have the label 'x'"),
    "inf.csv": (b"a,b,label\n1,inf,x\n3,4,y\n", "is infinite at line 2"),
    "same.csv": (b"a,b,label\n1,,x\n1,,y\n", "left out: a (always the same), b (empty)"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "truncated"),
    "cut.svm.xz": (b"\xfd7zXZ\x00\x00\x04", "truncated"),
    "noise.csv": (bytes(range(256)) * 4, "binary"),
    "far.svm": (b"1 1:1\n-1 10000000:1\n", "line 2 has the index 10000000"),
    "negative.svm": (b"1 1:1\n-1 -1:1\n", "line 2: the index -1 is negative"),
    "zero.svm": (b"1 1:1\n-1 0:1\n", "line 2 has the index 0"),
    "numbers.csv": (b"a,price\n" + b"".join(b"%d,%d.5\n" % (k * k, k) for k in range(30)), "too many for class labels"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files(drsvm_command, tmp_path, name):
    content, expected = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    code, out, err = drsvm_command("fit", path, "--model", tmp_path / "m.drsvm")
    assert code == 2 and out == ""
    last = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert last[0].startswith("error: ") and name in err and expected in err
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_more_than_two_classes_need_a_choice(drsvm_command, tmp_path):
    X, y = rows(60, 3)
    table = write_csv(tmp_path / "t.csv", X, np.array(["a", "b", "c"])[y])
    code, _, err = drsvm_command("compare", table)
    assert code == 2 and "--positive a" in err
    answer = json.loads(drsvm_command("compare", table, "--positive", "b", "--solvers", "auto", "--json")[1])
    assert answer["positive"] == "b"
    assert drsvm_command("compare", table, "--positive", "z")[0] == 2
