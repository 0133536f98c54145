"""`TableReader` on raw tables of any kind."""

import datetime

import numpy as np
import pandas
import pyarrow
import pytest
from sklearn.base import clone

from drsvm.datasets import TableReader

STYLES = {"price": "decimal comma", "joined": "date", "member": "true or false", "town": "category"}


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
    with pytest.raises(ValueError, match=r"X has shape \(4, 2\), but the model was trained on the 5 columns"):
        reader.transform(np.ones((4, 2)))


def test_values_of_other_types():
    reader = TableReader(["when", "flag", "code"], {"when": "date", "flag": "true or false", "code": "category"})
    days = [datetime.date(1970, 1, 2), datetime.datetime(1970, 1, 1, 12)]
    frame = pandas.DataFrame({"when": days, "flag": [True, None], "code": [1.0, np.nan]})
    expected = [[1.0, 1.0, "1"], [0.5, np.nan, "(empty)"]]
    for table in (frame, frame.assign(when=pandas.to_datetime(pandas.Series(days)))):
        found = reader.transform(table).tolist()
        np.testing.assert_array_equal(np.array([row[:2] for row in found], dtype=float), [row[:2] for row in expected])
        assert [row[2] for row in found] == ["1", "(empty)"]


def test_numbers_alone_are_floats():
    read = TableReader(["b", "a"]).transform(np.array([[1, 2], [3, 4]]))
    assert read.dtype == np.float64 and read.tolist() == [[1, 2], [3, 4]]


def test_errors_name_the_column_and_the_cell(reader):
    frame = pandas.DataFrame(RAW)
    with pytest.raises(ValueError, match=r"there is no column 'town' \(needed by the model\): did you mean 'Town'"):
        reader.transform(frame.rename(columns={"town": "Town"}))
    with pytest.raises(ValueError, match=r"3 columns that the model needs are missing: 'price', 'joined', 'member'"):
        reader.transform(frame[["age", "town"]])
    frame.loc[2, "price"] = "cheap"
    with pytest.raises(
        ValueError, match=r"column 'price' contains 'cheap' \(row 3\), but the model needs cells of the"
    ):
        reader.transform(frame)
