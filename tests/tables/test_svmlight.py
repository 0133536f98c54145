"""svmlight files."""

import numpy as np
from file_contents import SPARSE, TABLE, check_error
from scipy import sparse

from drsvm.tables import ReadOptions, Schema, read, read_like


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
    check_error(
        "is a csv file, but the model was trained on an svm",
        read_like,
        write("new.csv", TABLE),
        schema,
    )
    check_error(
        "line 2 has the index 0", read_like, write("new.svm", "1 1:2\n1 0:1\n"), schema
    )


def test_far_indices_are_noted_and_can_be_allowed(write):
    data = read(write("data.svm", SPARSE + "1 123456:1\n"))
    assert data.notes == [
        "Feature 123456 occurs only in line 4, far from all others: is its index mistyped?"
    ]
    path = write("data.svm", SPARSE + "1 10000000:1\n")
    assert read(path, ReadOptions(max_features=10**7)).shape == (4, 10**7)
