"""Steps that several commands share: bad data files, and classes."""

import pytest
from cli_tables import letters

BAD_FILES = {
    "wrong.csv": (b"a,b,label\n1,2,x\n3\n", "line 3 has 1 columns"),
    "row.csv": (b"a,b,label\n1,2,x\n", "has only one row"),
    "one.csv": (b"a,b,label\n1,2,x\n3,4,x\n", "all 2 rows have the label 'x'"),
    "cut.csv.gz": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "truncated"),
    "cut.svm.xz": (b"\xfd7zXZ\x00\x00\x04", "truncated"),
    "noise.csv": (bytes(range(256)) * 4, "binary"),
    "far.svm": (b"1 1:1\n-1 10000000:1\n", "line 2 has the index 10000000"),
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


def test_more_than_two_classes_need_a_choice(drsvm_command, answer_of, error_of, tmp_path):
    table, *_ = letters(tmp_path, 60)
    assert "--positive a" in error_of("compare", table)
    answer = answer_of("compare", table, "--positive", "b", "--solvers", "auto")
    assert answer["positive"] == "b"
    assert drsvm_command("compare", table, "--positive", "z")[0] == 2
