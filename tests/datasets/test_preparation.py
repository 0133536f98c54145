"""The preparation of a table: scaled numbers, 0/1 columns, indicators of gaps."""

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

from drsvm.datasets import ReadOptions, read
from drsvm.datasets.preparation import aligned, cells_clipped, features_of, preparation, unseen_levels


@pytest.fixture
def table(write):
    """Return a data set with a number, a number with many gaps, a truth value and a category with a rare level."""
    lines = [
        f"{k % 13},{k % 5 if k % 3 else ''},{'yes' if k % 4 else 'no'},{'Oslo' if k % 2 else 'Rome'},{k % 2}"
        for k in range(118)
    ]
    lines += ["1,2,yes,Bonn,0", "2,3,no,,1"]
    return read(
        write("data.csv", "age,income,member,town,label\n" + "\n".join(lines) + "\n"), ReadOptions(label="label")
    )


def fitted(data, **options):
    steps = Pipeline(preparation(data.schema, **options))
    return steps, steps.fit_transform(data.X), [feature.name for feature in features_of(steps, data.schema) or []]


def test_features(table):
    _, X, names = fitted(table)
    assert names == ["age", "income", "member", "income=(empty)", "town=Oslo", "town=Rome", "town=(rare)"]
    np.testing.assert_allclose(X[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X[:, :2].std(axis=0), 1.0)
    assert set(np.unique(X[:, 2:])) == {0.0, 1.0}
    assert X[:, 4:].sum(axis=0).tolist() == [59, 59, 2] and X[:, 3].sum() == 40


def test_clipped_cells_are_in_the_words_of_the_file(write):
    lines = [f"{k % 13},2024-05-{1 + k % 28:02d},{k % 2}" for k in range(60)] + ["900,2924-05-01,1"]
    data = read(write("data.csv", "age,since,label\n" + "\n".join(lines) + "\n"), ReadOptions(label="label"))
    texts = cells_clipped(fitted(data)[0].steps, data.schema, data.X).far
    assert [*texts] == ["since", "age"] and texts["age"].endswith("up to 900")
    assert texts["since"].startswith("1 cell above 2024-") and texts["since"].endswith("up to 2924-05-01")
    assert cells_clipped(fitted(data, standardise=False)[0].steps, data.schema, data.X) == ({}, (0, 0))


def test_cells_of_an_svmlight_file_are_numbered_as_there(write):
    lines = [f"{k % 2} 3:{k % 7 + 1} 5:{k % 3 + 1}" for k in range(60)] + ["1 3:500"]
    data = read(write("data.svm", "\n".join(lines) + "\n"))
    [(name, text)] = cells_clipped(fitted(data)[0].steps, data.schema, data.X).far.items()
    assert name == "3" and text.endswith("up to 500")


def test_gaps_are_filled_with_the_median(table):
    steps, X, _ = fitted(table, standardise=False)
    given = np.array([value for value in table.X.column("income").to_pylist() if value is not None])
    np.testing.assert_array_equal(X[X[:, 3] == 1, 1], np.median(given))
    assert [feature.column for feature in features_of(steps, table.schema)][3] == "income"


def test_a_level_that_was_not_seen_is_rare(table):
    steps, _, _ = fitted(table)
    new = pandas.DataFrame({"age": [1, 1, 1], "income": 1, "member": "yes", "town": ["Paris", "Bonn", None]})
    assert steps.transform(new)[:, 4:].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_a_level_that_was_not_seen_is_all_zeros_where_none_is_rare(write):
    lines = "".join(f"{'Oslo' if k % 2 else 'Rome'},{k % 7},{k % 3 % 2}\n" for k in range(60))
    data = read(write("data.csv", "town,a,label\n" + lines), ReadOptions(label="label"))
    steps, _, names = fitted(data)
    assert names == ["a", "town=Oslo", "town=Rome"]
    new = data.X.slice(0, 2).set_column(0, "town", [["Paris", "Oslo"]])
    assert steps.transform(new)[:, 1:].tolist() == [[0, 0], [1, 0]]
    assert unseen_levels(steps, data.schema, new) == {"town": 1}


def test_many_levels_are_sparse(write):
    lines = "".join(f"t{k % 250},{k % 7},{k % 2}\n" for k in range(3000))
    data = read(write("data.csv", "town,a,label\n" + lines), ReadOptions(label="label"))
    _, X, names = fitted(data)
    assert sparse.issparse(X) and X.shape == (3000, 251) and names[:2] == ["a", "town=t0"]


def test_columns_are_aligned_by_name():
    X = np.arange(6.0).reshape(2, 3)
    expected = [[2, 0, 0], [5, 0, 3]]
    for rows in (X, sparse.csr_array(X)):
        found = aligned(rows, ["a", "b", "c"], ["c", "new", "a"])
        assert (found.toarray() if sparse.issparse(found) else found).tolist() == expected
