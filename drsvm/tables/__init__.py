"""Readers of data files: svmlight, CSV, Parquet, JSON and Excel.

    file → table → what each column contains → Dataset → preparation for a classifier

- `reading` has these steps, and returns a `dataset`.
- `files` opens files and finds their format; `recoding` makes CSV of JSON and Excel;
  `svmlight`, `csv_files` and `arrow_tables` read them.
- `columns` chooses the label and the features, `kinds` finds what they contain, and
  `conversion` makes numbers and categories of them.
- `cell_styles` are the ways to write a number or a date, and `decimal_signs` finds out
  what dots and commas mean; `arrow_columns` and `values` apply this to columns.
- `copies` finds rows that occur more than once, `row_order` whether they are in an
  order; `notes` is what users are told.
- `preparation` makes features of columns; `clipped_cells` says which it clips.
- `row_files`, which `row_writer` writes, and `streamed_tables` are for data that do not
  fit into memory.

Errors (`DataFileError`) name the file, the line or column, and the remedy. Only
`preparation` (with `clipped_cells`) needs scikit-learn, which takes long to import: an
error in a file is reported before.
"""

from typing import TYPE_CHECKING

from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.files import DataFileError
from drsvm.tables.reading import read, read_like
from drsvm.utils.lazy import lazy_names

__all__ = ["DataFileError", "Dataset", "ReadOptions", "Schema", "read", "read_like"]

if TYPE_CHECKING:
    from drsvm.tables.preparation import TableReader as TableReader
    from drsvm.tables.row_files import RowsOnDisk as RowsOnDisk
    from drsvm.tables.row_files import rows_on_disk as rows_on_disk
else:
    __getattr__, __dir__, _LAZY = lazy_names(__name__)
    __all__ += _LAZY
