"""The preparation of a table: raw cells, scaled numbers, 0/1 columns, indicators of gaps."""

import datetime
import time

import numpy as np
import pandas
import pyarrow
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from drsvm.tables import ReadOptions, TableReader, read
from drsvm.tables.preparation import (
    cells_clipped,
    features_of,
    fitted_preparation,
    preparation,
    unseen_levels,
)


@pytest.fixture
def table(write):
    """Return a data set with a number, a number with many gaps, a truth value and a category with a rare level."""
    lines = [
        f"{k % 13},{k % 5 if k % 3 else ''},{'yes' if k % 4 else 'no'},{'Oslo' if k % 2 else 'Rome'},{k % 2}"
        for k in range(118)
    ]
    lines += ["1,2,yes,Bonn,0", "2,3,no,,1"]
    content = "age,income,member,town,label\n" + "\n".join(lines) + "\n"
    return read(write("data.csv", content), ReadOptions(label="label"))


def fitted(data, **options):
    steps = Pipeline(preparation(data.schema, **options))
    return (
        steps,
        steps.fit_transform(data.X),
        [feature.name for feature in features_of(steps, data.schema) or []],
    )


def test_features(table):
    _, X, names = fitted(table)
    assert names == [
        "age",
        "income",
        "member",
        "income=(empty)",
        "town=Oslo",
        "town=Rome",
        "town=(rare)",
    ]
    np.testing.assert_allclose(X[:, :2].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(X[:, :2].std(axis=0), 1.0)
    assert set(np.unique(X[:, 2:])) == {0.0, 1.0}
    assert X[:, 4:].sum(axis=0).tolist() == [59, 59, 2] and X[:, 3].sum() == 40


def test_clipped_cells_are_in_the_words_of_the_file(write):
    lines = [f"{k % 13},2024-05-{1 + k % 28:02d},{k % 2}" for k in range(60)] + [
        "900,2924-05-01,1"
    ]
    data = read(
        write("data.csv", "age,since,label\n" + "\n".join(lines) + "\n"),
        ReadOptions(label="label"),
    )
    texts = cells_clipped(fitted(data)[0].steps, data.schema, data.X).far
    assert [*texts] == ["since", "age"] and texts["age"].endswith("up to 900")
    assert texts["since"].startswith("1 cell above 2024-") and texts["since"].endswith(
        "up to 2924-05-01"
    )
    assert cells_clipped(
        fitted(data, standardise=False)[0].steps, data.schema, data.X
    ) == ({}, (0, 0))


def test_cells_of_an_svmlight_file_are_numbered_as_there(write):
    lines = [f"{k % 2} 3:{k % 7 + 1} 5:{k % 3 + 1}" for k in range(60)] + ["1 3:500"]
    data = read(write("data.svm", "\n".join(lines) + "\n"))
    [(name, text)] = cells_clipped(
        fitted(data)[0].steps, data.schema, data.X
    ).far.items()
    assert name == "3" and text.endswith("up to 500")


def test_gaps_are_filled_with_the_median_and_new_levels_are_rare(table):
    steps, X, _ = fitted(table, standardise=False)
    given = np.array(
        [value for value in table.X.column("income").to_pylist() if value is not None]
    )
    np.testing.assert_array_equal(X[X[:, 3] == 1, 1], np.median(given))
    assert [feature.column for feature in features_of(steps, table.schema)][
        3
    ] == "income"
    new = pandas.DataFrame(
        {
            "age": [1, 1, 1],
            "income": 1,
            "member": "yes",
            "town": ["Paris", "Bonn", None],
        }
    )
    assert steps.transform(new)[:, 4:].tolist() == [[0, 0, 1], [0, 0, 1], [0, 0, 1]]


def test_a_level_that_was_not_seen_is_all_zeros_where_none_is_rare(write):
    lines = "".join(
        f"{'Oslo' if k % 2 else 'Rome'},{k % 7},{k % 3 % 2}\n" for k in range(60)
    )
    data = read(write("data.csv", "town,a,label\n" + lines), ReadOptions(label="label"))
    steps, _, names = fitted(data)
    assert names == ["a", "town=Oslo", "town=Rome"]
    new = data.X.slice(0, 2).set_column(0, "town", [["Paris", "Oslo"]])
    assert steps.transform(new)[:, 1:].tolist() == [[0, 0], [1, 0]]
    assert unseen_levels(steps, data.schema, new) == {"town": 1}


@pytest.mark.parametrize("n", [30, 120])
def test_levels_of_one_row_are_forgotten_and_count_as_rare(write, n):
    towns = ["Oslo", "Rome", "Rome", "Bonn"] * (n // 4) + ["Here", "There"]
    lines = "".join(f"{town},{k % 7},{k % 2}\n" for k, town in enumerate(towns))
    data = read(write("data.csv", "town,a,label\n" + lines), ReadOptions(label="label"))
    steps, X, names = fitted(data)
    assert names == ["a", "town=Bonn", "town=Oslo", "town=Rome", "town=(rare)"]
    (levels,) = steps[-1].named_transformers_["categories"].categories_
    assert {"Here", "There"} < set(levels)
    steps, features = fitted_preparation(data.schema, True, data.X)
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(steps.transform(data.X), X)
    (levels,) = steps[-1].named_transformers_["categories"].categories_
    assert levels.tolist() == ["(rare)", "Bonn", "Oslo", "Rome"]
    assert [feature.name for feature in features_of(steps, data.schema)] == names
    new = data.X.slice(0, 2).set_column(0, "town", [["Paris", "There"]])
    assert steps.transform(new)[:, 1:].tolist() == [[0, 0, 0, 1]] * 2
    assert unseen_levels(steps, data.schema, new) == {"town": 2}


def test_many_levels_are_sparse(write):
    lines = "".join(f"t{k % 250},{k % 7},{k % 2}\n" for k in range(3000))
    data = read(write("data.csv", "town,a,label\n" + lines), ReadOptions(label="label"))
    _, X, names = fitted(data)
    assert (
        sparse.issparse(X) and X.shape == (3000, 251) and names[:2] == ["a", "town=t0"]
    )


def test_time_grows_in_proportion_to_the_number_of_levels(write):
    lines = "".join(f"t{k // 3 if k > 20 else 0},{k % 2}\n" for k in range(60000))
    data = read(write("data.csv", "town,label\n" + lines), ReadOptions(label="label"))
    steps = Pipeline(preparation(data.schema)).fit(data.X)
    start = time.process_time()
    names = [feature.name for feature in features_of(steps, data.schema)]
    assert names == ["town=t0", "town=(rare)"]
    assert not unseen_levels(steps, data.schema, data.X)
    assert time.process_time() - start < 1.0


STYLES = {
    "price": "decimal comma",
    "joined": "date",
    "member": "true or false",
    "town": "category",
}


@pytest.fixture
def reader():
    return TableReader(["age", "price", "joined", "member", "town"], STYLES, ["-9"])


RAW = {
    "town": [" Rome", None, "?", "Oslo"],
    "extra": [1, 2, 3, 4],
    "member": ["yes", "No", None, "TRUE"],
    "joined": ["1970-01-03", None, "1970-01-01 06:00", "1970-01-02"],
    "price": ["1,5", "1.234,5", "", "7"],
    "age": [1.5, -9.0, np.nan, 3.0],
}
EXPECTED = [
    [1.5, 1.5, 2.0, 1.0, "Rome"],
    [np.nan, 1234.5, np.nan, 0.0, "(empty)"],
    [np.nan, np.nan, 0.25, np.nan, "(empty)"],
    [3.0, 7.0, 1.0, 1.0, "Oslo"],
]


def check(found):
    assert found.shape == (4, 5)
    for row, wanted in zip(found.tolist(), EXPECTED, strict=True):
        np.testing.assert_array_equal(np.array(row[:4], dtype=float), wanted[:4])
        assert row[4] == wanted[4]


def test_data_frames(reader):
    frame = pandas.DataFrame(RAW)
    check(reader.transform(frame))
    check(reader.transform(frame.rename(columns={"age": " age "}).convert_dtypes()))
    check(reader.transform(pyarrow.table({**RAW, "age": [1.5, -9.0, None, 3.0]})))
    check(clone(reader).fit_transform(frame.astype({"town": "category"})))


def test_arrays_have_the_columns_in_order(reader):
    names = list(reader.get_feature_names_out())
    check(reader.transform(np.array([RAW[name] for name in names], dtype=object).T))
    with pytest.raises(
        ValueError,
        match=r"X has shape \(4, 2\), but the model was trained on the 5 columns",
    ):
        reader.transform(np.ones((4, 2)))


def test_values_of_other_types():
    reader = TableReader(
        ["when", "flag", "code"],
        {"when": "date", "flag": "true or false", "code": "category"},
    )
    days = [datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 1, 12)]
    frame = pandas.DataFrame(
        {"when": days, "flag": [True, None], "code": [1.0, np.nan]}
    )
    expected = [[1.0, 1.0, "1"], [0.5, np.nan, "(empty)"]]
    for table in (frame, frame.assign(when=pandas.to_datetime(pandas.Series(days)))):
        found = reader.transform(table).tolist()
        np.testing.assert_array_equal(
            np.array([row[:2] for row in found], dtype=float),
            [row[:2] for row in expected],
        )
        assert [row[2] for row in found] == ["1", "(empty)"]


def test_numbers_alone_are_floats():
    read = TableReader(["b", "a"]).transform(np.array([[1, 2], [3, 4]]))
    assert read.dtype == np.float64 and read.tolist() == [[1, 2], [3, 4]]


def test_errors_name_the_column_and_the_cell(reader):
    frame = pandas.DataFrame(RAW)
    with pytest.raises(
        ValueError,
        match=r"there is no column 'town' \(needed by the model\): did you mean 'Town'",
    ):
        reader.transform(frame.rename(columns={"town": "Town"}))
    with pytest.raises(
        ValueError,
        match=r"3 columns that the model needs are missing: 'price', 'joined', 'member'",
    ):
        reader.transform(frame[["age", "town"]])
    frame.loc[2, "price"] = "cheap"
    with pytest.raises(
        ValueError,
        match=r"column 'price' contains 'cheap' \(row 3\), but the model needs numbers with",
    ):
        reader.transform(frame)
