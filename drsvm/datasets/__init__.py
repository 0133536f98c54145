"""Readers of data files: svmlight, CSV and Parquet, compressed or not.

    file → table → what each column contains → Dataset → preparation for a classifier

Errors (`DataFileError`) name the file, the line or column, and the remedy. Only `preparation` and `table_reader` need
scikit-learn, which takes long to import: an error in a file is reported before.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from drsvm.datasets.dataset import Dataset, ReadOptions, Schema
from drsvm.datasets.files import DataFileError
from drsvm.datasets.reading import read, read_cells, read_like

if TYPE_CHECKING:
    from drsvm.datasets.row_files import RowsOnDisk, rows_on_disk
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


_LATER = {"RowsOnDisk": "row_files", "TableReader": "table_reader", "rows_on_disk": "row_files"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"drsvm.datasets.{_LATER[name]}"), name)
