"""Readers of data files: svmlight, CSV and Parquet, compressed or not.

    file → columns chosen by name → numbers, labels → Dataset

Errors (`DataFileError`) name the file, the line or column, and the remedy.
"""

from drsvm.datasets.dataset import Dataset, ReadOptions, Schema
from drsvm.datasets.files import DataFileError
from drsvm.datasets.reading import read, read_cells, read_like

__all__ = ["DataFileError", "Dataset", "ReadOptions", "Schema", "read", "read_cells", "read_like"]
