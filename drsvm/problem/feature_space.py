"""Problems whose rows are functions in the feature space of a kernel."""

from drsvm.problem.backends import backend_of
from drsvm.problem.kernel_functions import KernelFunction
from drsvm.problem.kernel_rows import FunctionRows, KernelRows
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_rows, in_content_order
from drsvm.utils.annotations import Labels, Matrix
from drsvm.utils.clock import TimeLimit

# All values are kept only if they take at most this share of the time.
SHARE_OF_TIME = 0.2
# If values are not kept, the centre is the mean of some rows: at least this number of
# them, and as many as take about PAIRS_FOR_CENTRE values.
FEWEST_FOR_CENTRE = 20
PAIRS_FOR_CENTRE = 5_000_000


def rows_of_functions(points: Matrix, function: KernelFunction) -> FunctionRows:
    """Return the rows of a kernel where the points are, or are to be."""
    backend = backend_of(points)
    if backend is None:
        return KernelRows(points, function)
    return backend.kernel_rows(points, function)


def in_feature_space(
    points: Matrix,
    function: KernelFunction,
    y: Labels,
    weights=None,
    *,
    time: TimeLimit | None = None,
    **parameters,
) -> Problem:
    """Return the problem of a kernel.

    Parameters
    ----------
    points : array or sparse matrix of shape (n, d)
        The rows, in their checked form.
    function : KernelFunction
        The kernel.
    y, weights : arrays of shape (n,)
        Labels and weights; by default all rows have the same weight.
    time : TimeLimit, optional
        Limits how long values of the kernel may take.
    **parameters
        Those of `Problem` except the norm and the costs of features.

    Returns
    -------
    Problem
        The problem; with an intercept, its rows are relative to their centre.
    """
    # 1. The problem on the rows as they are, in an order that depends on their contents
    data = rows_of_functions(points, function).data(y, weights)
    problem = Problem.of_checked(**data)
    # A function of the user may be anything.
    if not function.proven:
        problem.rows.check_positive()
    problem = in_content_order(problem).replace(**parameters)

    # 2. Whether there is time to compute all values, and keep them
    rows = problem.rows
    n = problem.n_rows
    if time is not None and time.limited and rows.keeps:
        seconds = n**2 * rows.seconds_per_value
        # A limit that is nearly over is taken for a tenth of a second.
        rows.keeps = seconds <= SHARE_OF_TIME * max(time.left(), 0.1)

    # 3. The rows relative to their centre, where the intercept has its cost
    if not problem.fit_intercept:
        return problem
    if rows.keeps or n**2 <= PAIRS_FOR_CENTRE:
        some = slice(n)
    else:
        # The mean of some rows is known sooner.
        size = max(FEWEST_FOR_CENTRE, PAIRS_FOR_CENTRE // n)
        some = draw_rows(problem, size)
    return problem.with_rows(rows.centred(problem.sample_weight, some))
