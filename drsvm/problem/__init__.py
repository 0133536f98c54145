"""One binary problem: its data, parameters, norms and rows, and its result."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# `as` marks what is public; the rest is for other folders and for tests.
if TYPE_CHECKING:
    from drsvm.problem.backends import ForGpu, to_numpy
    from drsvm.problem.centring import offset_of_far_columns
    from drsvm.problem.feature_space import in_feature_space, rows_of_functions
    from drsvm.problem.kernel_classifier import KernelClassifier
    from drsvm.problem.kernel_functions import (
        Given,
        Laplacian,
        Linear,
        Polynomial,
        Precomputed,
        Rbf,
    )
    from drsvm.problem.kernel_rows import FunctionRows, KernelRows
    from drsvm.problem.memory_rows import RowView, in_memory, is_mapped, must_stay
    from drsvm.problem.norms import L2, Norm, euclidean, norm_for
    from drsvm.problem.problem import PARAMETERS
    from drsvm.problem.problem import Problem as Problem
    from drsvm.problem.result import History as History
    from drsvm.problem.result import Progress as Progress
    from drsvm.problem.result import Result as Result
    from drsvm.problem.result import Results
    from drsvm.problem.result import Status as Status
    from drsvm.problem.risk import (
        by_row,
        losses,
        smallest_best_price,
        typical_flip_cost,
        worst_case_error,
        worst_case_hinge,
    )
    from drsvm.problem.row_sums import (
        column_moments,
        costs_of_flipping_classes,
        flips_pay,
        gradient_of_classes,
        gradient_variances,
        masses_by_flip_cost,
        masses_of_classes,
        range_of_decisions,
        typical_row_norm,
    )
    from drsvm.problem.rows import RowsLost
    from drsvm.problem.sampling import draw_by_class, draw_rows, draw_sample
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
