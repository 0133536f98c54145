"""Whether the rows of a file are in an order.

They are if blocks of them differ by more than chance explains. A column is compared by
the ranks of its cells, as Kruskal and Wallis do [1]_: the share of their variance that
lies between the blocks has a chi-squared distribution if the rows were shuffled.

References
----------
.. [1] W. H. Kruskal and W. A. Wallis, "Use of ranks in one-criterion variance
   analysis", Journal of the American Statistical Association 47, 1952.
"""

import numpy as np
from scipy import sparse
from scipy.stats import chi2, rankdata

from drsvm.utils.annotations import Matrix

# The rows that are compared: with more of them, differences would count that hardly
# matter.
MOST_ROWS = 5000
MOST_COLUMNS = 500
BLOCKS = 8
# In a block, on average: fewer rows do not have the distribution of many.
FEWEST_IN_BLOCK = 5
# The probability that shuffled rows count as ordered, whatever the number of columns
CHANCE = 1e-4
# The correlation with the places of the rows from which on a column grows with them
GROWING = 0.95


def columns_in_order(X: Matrix, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which columns differ between blocks of rows, and which grow with them.

    Parameters
    ----------
    X : array or CSR array of shape (n, d)
        The features, in the order of the file.
    y : array of shape (n,)
        The labels.

    Returns
    -------
    differing, growing : arrays of shape (d,), or None
        Masks of the columns; none differs if only the labels do. None if no order is
        seen, if there are many columns, or if some blocks lack a class: rows sorted by
        their labels are not in the order of time.
    """
    n = min(len(y), MOST_ROWS)
    rows = np.linspace(0, len(y) - 1, n).astype(int)
    classes, codes = np.unique(y[rows], return_inverse=True)
    blocks = np.arange(n) * BLOCKS // n
    counts = np.zeros((BLOCKS, len(classes)))
    np.add.at(counts, (blocks, codes), 1)
    if counts.min() == 0 or X.shape[1] > MOST_COLUMNS:
        return None
    cells = X[rows]
    if sparse.issparse(cells):
        cells = cells.toarray()
    # The labels may differ between blocks, too.
    table = np.column_stack([cells, np.eye(len(classes))[codes]])
    ranks = rankdata(table, axis=0) - 0.5 * (n + 1)
    of_blocks = np.zeros((BLOCKS, table.shape[1]))
    np.add.at(of_blocks, blocks, ranks)
    sizes = counts.sum(axis=1, keepdims=True)
    between = (of_blocks**2 / sizes).sum(axis=0)
    total = (ranks**2).sum(axis=0)
    # Columns that nearly always have the same value tell nothing.
    other = (table != np.median(table, axis=0)).sum(axis=0)
    telling = other >= FEWEST_IN_BLOCK * BLOCKS
    statistic = (n - 1) * between / np.where(telling, total, np.inf)
    differing = chi2.sf(statistic, BLOCKS - 1) * table.shape[1] < CHANCE
    if not differing.any():
        return None
    # The correlation of ranks with places, Spearman's
    places = np.arange(n) - 0.5 * (n - 1)
    correlation = places @ ranks / np.sqrt(np.maximum(total, 1.0) * (places @ places))
    d = X.shape[1]
    return differing[:d], correlation[:d] >= GROWING
