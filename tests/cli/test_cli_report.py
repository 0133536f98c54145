"""``drsvm report``."""

import json

import numpy as np
import pytest
from cli_tables import rows, write_csv


def test_report(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = drsvm_command("report", table, "--test-size", 0.3, "--output", tmp_path / "r.html")
    assert code == 0 and str(tmp_path / "r.html") in out
    assert "<html" in (tmp_path / "r.html").read_text()[:500]
    assert drsvm_command("report", table, "--output", tmp_path / "r.txt")[0] == 2
    code, out, _ = drsvm_command("report", table, "--max-iter", 1, "--output", tmp_path / "r.html", "--json")
    assert code == 1 and json.loads(out)["proven"] is False
    code, _, err = drsvm_command("report", tmp_path / "none.csv", "--solver", "magic", "--output", tmp_path / "r.html")
    assert code == 2 and "--solver must be one of auto" in err


@pytest.mark.parametrize("arguments", [["--test-size", 0.4], ["--missing", "drop"]])
def test_the_report_names_the_rows_of_the_file(drsvm_command, tmp_path, arguments):
    pytest.importorskip("matplotlib")
    X, y = rows()
    labels = np.array(["cat", "dog"])[y]
    X[:, 0] += 6.0 * y  # makes the wrong labels stand out
    wrong = np.arange(30, 120, 10)
    labels[wrong] = np.where(labels[wrong] == "cat", "dog", "cat")
    table = write_csv(tmp_path / "t.csv", X, labels)
    lines = table.read_text().splitlines()
    table.write_text("\n".join([lines[0], *(["1,,2,cat"] * 5), *lines[1:]]) + "\n")
    arguments = ["--missing", "drop", *arguments]
    out = drsvm_command("report", table, *arguments, "--output", tmp_path / "r.html", "--json")[1]
    answer = [int(name) for name in json.loads(out)["summary"]["labels_to_check"]]
    assert len(answer) >= 3 and set(answer) <= {int(row) + 5 + 1 for row in wrong}
    assert "numbered like the rows of the file, from 1" in (tmp_path / "r.html").read_text()
