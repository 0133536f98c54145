"""Notes on the values of a table."""

import numpy as np
import pytest

from drsvm.datasets import DataFileError, ReadOptions, read, read_like

pytestmark = pytest.mark.usefixtures("with_and_without_pyarrow")


def test_a_column_of_row_numbers_is_noted(write):
    rows = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(30))
    data = read(write("data.csv", "customer_id,a,label\n" + rows))
    assert any("--drop customer_id" in note for note in data.notes)


def test_an_empty_category_is_noted_if_empty_cells_are_filled(write):
    options = ReadOptions(one_hot=True, missing="median")
    data = read(write("data.csv", "a,t,label\n1,p,x\n3,,y\n5,q,x\n"), options)
    np.testing.assert_array_equal(data.X[:, 1:], [[1, 0], [0, 0], [0, 1]])
    note = "Column 't' has 1 empty cells: they belong to none of its categories."
    assert note in data.notes
    path = write("new.csv", "a,t\n1,\n")
    assert note in read_like(path, data.schema, options).notes
    with pytest.raises(DataFileError, match="column 't' has no value at line 2"):
        read_like(path, data.schema)
