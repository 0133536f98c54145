"""Names for what functions take where no library has a common type.

A matrix of rows may be one of numpy, of scipy.sparse, of CuPy, or a view of a file: what they share is what the code
uses, not a class. Vectors of CuPy have the methods of numpy's, so they are annotated as these.
"""

from typing import Any, Literal, TypeAlias

import numpy as np

Matrix: TypeAlias = Any
"""Rows: two dimensions, `shape`, `dtype` and `@`; an array or a sparse matrix, here or on a card."""

Vector: TypeAlias = np.ndarray
"""One dimension, of numpy or CuPy."""

Labels: TypeAlias = Any
"""Whatever scikit-learn takes as labels: arrays, lists, columns of a data frame."""

Costs: TypeAlias = float | np.ndarray
"""One cost for all rows, or one for each."""

NormName: TypeAlias = Literal[1, 2, "1", "2", "inf"] | float
"""What users write for a norm."""
