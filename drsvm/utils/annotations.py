"""Names for what functions take where no library has a common type.

A matrix of rows may be one of numpy, of scipy.sparse, of CuPy, or a view of a file:
what they share is what the code uses, not a class. Vectors of CuPy have the methods of
numpy's, so they are annotated as these.
"""

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

# Rows with `shape`, `dtype` and `@`: an array or a sparse matrix, here or on a GPU
Matrix: TypeAlias = Any
# Whatever scikit-learn takes as labels: arrays, lists, columns of a data frame
Labels: TypeAlias = Any
# An array, a list or a column of numbers: one for each row, feature or class
Values: TypeAlias = Any
# An estimator or a pipeline of any library; where it says so, (weights, intercept)
Classifier: TypeAlias = Any
# What users write for a norm
NormName: TypeAlias = Literal[1, 2, "1", "2", "inf"] | float

if TYPE_CHECKING:  # importing drsvm must not import numpy
    import numpy as np

    Vector: TypeAlias = np.ndarray  # one dimension, of numpy or CuPy
    Costs: TypeAlias = float | np.ndarray  # one cost for all rows, or one for each
else:
    Vector = Costs = Any
