"""Readers of data files: svmlight, CSV and Parquet, compressed or not.

    file → table → what each column contains → Dataset → preparation for a classifier

Errors (`DataFileError`) name the file, the line or column, and the remedy. Only `preparation` and `table_reader` need
scikit-learn, which takes long to import: an error in a file is reported before.
"""

from typing import TYPE_CHECKING, Any

from drsvm.datasets.dataset import Dataset, ReadOptions, Schema
from drsvm.datasets.files import DataFileError
from drsvm.datasets.reading import read, read_cells, read_like
from drsvm.datasets.rows_on_disk import RowsOnDisk, rows_on_disk

if TYPE_CHECKING:
    from drsvm.datasets.table_reader import TableReader

__all__ = [
    "DataFileError",
    "Dataset",
    "ReadOptions",
    "RowsOnDisk",
    "Schema",
    "TableReader",
    "read",
    "read_cells",
    "read_like",
    "rows_on_disk",
]


def __getattr__(name: str) -> Any:
    if name != "TableReader":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from drsvm.datasets.table_reader import TableReader

    return TableReader
