"""`WassersteinSVC`: the robust linear classifier as a scikit-learn estimator.

    X, y → data → problems → radius and ridge → solve → fitted attributes → threshold →
    probabilities → warnings

With more than two classes, each class is trained against the rest, with its own problem
and certificate (see `one_vs_rest`).
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from drsvm.defaults.binary_problems import BinaryProblems, Solved
from drsvm.defaults.fit_data import FitData
from drsvm.defaults.regularisation import regularised
from drsvm.estimators.base import FitMixin, without_single_column
from drsvm.estimators.callbacks import FitCallbacks
from drsvm.estimators.checks import (
    ROWS,
    checked_data_anywhere,
    naming_large_entries,
    without_gross_errors,
)
from drsvm.estimators.parameters import (
    feature_costs,
    feature_parameters,
    problem_parameters,
)
from drsvm.estimators.partial_fit import (
    earlier_starts,
    feed_block,
    learns_in_blocks,
)
from drsvm.estimators.placement import check_remote_features, on_engine
from drsvm.estimators.solving import solve_problems
from drsvm.problem.backends import is_remote, to_numpy
from drsvm.problem.memory_rows import MemoryRows, dense, must_stay
from drsvm.problem.norms import norm_for
from drsvm.problem.validation import as_rows, check_indices
from drsvm.solvers.base import Solver
from drsvm.solvers.selection import is_auto
from drsvm.utils.annotations import Labels, Matrix, NormName, Values, Vector
from drsvm.utils.arguments import about
from drsvm.utils.clock import TimeLimit


class WassersteinSVC(FitMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear classifier for data with wrong labels and shifting features, with a proof.

    Its direction minimises the expected hinge loss under the worst distribution within
    a Wasserstein ball around the training data: this is what is proven. The threshold
    is placed afterwards. Standardise the features first: shifts are measured in their
    units. The defaults need no tuning. See :doc:`/problem` for the problem,
    :doc:`/choosing` and :doc:`/prices` for the parameters, and :doc:`/scikit_learn` for
    costs of errors, probabilities and several classes.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample. "auto" is computed from
        the data (see `drsvm.auto_radius`).
    flip_cost : float or dict, default=inf
        Cost of flipping a label, or one per class; `fit` takes one per row.
    norm : {1, 2, inf}, default=2
        Norm in which shifts are measured; ``inf`` gives sparse weights.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||w||²``; "auto" is computed, too.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Cost of the intercept: the size of the constant column whose weight it is.
        "auto": that of a typical column; ``inf``: a free intercept.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1, or a dict of some by name; by default 1.
        With ``inf`` the feature cannot shift.
    monotonic_cst : array of shape (n_features,) or dict, optional
        1 where the decision function must increase with the feature, -1 where it must
        decrease, 0 elsewhere; or a dict by name. For two classes only.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes, as in scikit-learn; "auto" is about half-way from None
        to "balanced".
    threshold : {"accuracy", "balanced_accuracy", "optimum"} or dict, default="accuracy"
        What the threshold between two classes is placed for, by decisions about rows
        that the classifier has not seen. "optimum": the problem's own intercept. A dict
        has the cost of missing each class, such as ``{"no": 1, "yes": 10}``.
    cv : int, splitter or iterable, optional
        Folds for threshold and calibration, as in scikit-learn. By default, few rows
        are left out one by one.
    calibration : "sigmoid" or None, default=None
        With "sigmoid", `predict_proba` and `predict_log_proba` are available.
    solver : str or Solver, default="auto"
        See `drsvm.solve`.
    tol : float, optional
        Proven gap between objective and optimum at which to stop; by default 1e-6 for
        solver="auto".
    max_iter : int, optional
        Iteration limit per class.
    max_time : float, optional
        Time limit for `fit` in seconds, which the classes share evenly.
    warm_start : bool, default=False
        Whether `fit` starts from the classifier of the previous fit.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    verbose : int, default=0
        1: print a line for every class; 2: also one for every certificate.
    row_radius : float, default=0
        How far every row may shift on its own, before all rows shift by `radius` on
        average; ``radius=0`` leaves the average shift out. `fit` takes one per row. It
        needs ``flip_cost=inf``. See :doc:`/row_shifts`.

        .. versionadded:: 1.0.0rc2
    n_jobs : int, optional
        Number of classes fitted in parallel.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where to compute: "auto" where X is; "gpu" moves it.

    Attributes
    ----------
    coef_ : array of shape (1 or n_classes, n_features)
        The weights.
    intercept_, certified_intercept_ : arrays of shape (1 or n_classes,)
        Intercepts of the decisions, and of the certificate.
    classes_ : array
        Labels.
    objective_, lower_bound_, gap_, radius_price_ : float or array of (n_classes,)
        The certificate: worst-case risk plus ridge term, a proven lower bound on the
        optimum, their difference, and the price of one unit of radius.
    radius_, l2_, intercept_cost_ : float
        The values that were used.
    class_factors_ : array of shape (n_classes,)
        Factors of the weights of the rows of each class.
    threshold_ : float
        `certified_intercept_` minus `intercept_`.
    sigmoids_ : array of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid of every decision.
    mean_ : array of shape (n_features,)
        The average training row, by the sample weights; `explain` measures
        contributions from it.
    n_iter_ : int
        Number of iterations, the maximum over the classes.
    result_ : Result, or list of them
        The full results of the runs, one per class if there are more than two.
    n_features_in_, feature_names_in_
        Number and names of the features.

    See Also
    --------
    WassersteinSVCCV : Parameters by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from drsvm import ClippedScaler, WassersteinSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(ClippedScaler(), WassersteinSVC()).fit(X, y)
    >>> bool(model[-1].gap_ <= 1e-6)
    True
    """

    def __init__(
        self,
        radius: float | Literal["auto"] = "auto",
        *,
        flip_cost: float | Mapping[Any, float] = math.inf,
        norm: NormName = 2,
        l2: float | Literal["auto"] = "auto",
        fit_intercept: bool = True,
        intercept_cost: float | Literal["auto"] = "auto",
        feature_cost: Any = None,
        monotonic_cst: Any = None,
        class_weight: Mapping[Any, float] | Literal["auto", "balanced"] | None = "auto",
        threshold: Literal["accuracy", "balanced_accuracy", "optimum"]
        | Mapping[Any, float] = "accuracy",
        cv: Any = None,
        calibration: Literal["sigmoid"] | None = None,
        solver: str | Solver = "auto",
        tol: float | None = None,
        max_iter: int | None = None,
        max_time: float | TimeLimit | None = None,
        warm_start: bool = False,
        random_state: int | np.random.Generator | None = None,
        verbose: int = 0,
        n_jobs: int | None = None,
        engine: Literal["auto", "cpu", "gpu", "dask"] = "auto",
        row_radius: float = 0.0,
    ):
        self.radius = radius
        self.flip_cost = flip_cost
        self.norm = norm
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.intercept_cost = intercept_cost
        self.feature_cost = feature_cost
        self.monotonic_cst = monotonic_cst
        self.class_weight = class_weight
        self.threshold = threshold
        self.cv = cv
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.engine = engine
        self.row_radius = row_radius

    # --- the steps of a fit that differ from those of the classifier with a kernel

    def _check_data(self, X, y, sample_weight, flip_cost) -> FitData:
        X = on_engine(X, self.engine)
        data = checked_data_anywhere(
            self, X, y, sample_weight, self.class_weight, flip_cost
        )
        data = without_gross_errors(self, data)
        if self.warm_start:
            starts = earlier_starts(self, data.classes, self.n_features_in_)
            data = replace(data, starts=starts)
        return data

    def _solve(self, data: FitData, callbacks: FitCallbacks, time: TimeLimit) -> Solved:
        with naming_large_entries(data):
            given = data.problems(self._problem_parameters(data.flip_cost))
            # An error should not wait for the rules, which are about rows that shift on
            # average. Rows on a cluster have their radii with them.
            shifting = [each.replace(row_radius=data.row_radius) for each in given]
            given = [each.with_checked(row_radius=0.0) for each in shifting]
            # Only "auto" may choose other coordinates.
            problems = BinaryProblems.at_centre(given, in_span=is_auto(self.solver))
            problems = regularised(
                problems, self.radius, self.l2, self.solver, data, time
            )
        if shifting[0].has_row_radius:
            # The rules for radius and ridge are about rows that shift on average.
            problems = problems.with_checked(row_radius=shifting[0].row_radius)
        limits = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "random_state": self.random_state,
        }
        results = solve_problems(
            problems,
            data.starts or problems.starts(),
            self.solver,
            limits,
            self.n_jobs,
            callbacks,
            time,
        )
        return Solved(problems, results)

    def _store_classifier(self, data: FitData, solved: Solved) -> None:
        self.coef_ = data.like(solved.weights)
        self.mean_, self._mass_of_mean = data.average_row(solved.problems.given[0])
        # A later partial_fit starts from this fit.
        self.__dict__.pop("_block_fits", None)

    def _problem_parameters(self, flip_cost) -> dict[str, Any]:
        """Return the parameters of the problems except the radius."""
        parameters = problem_parameters(self, flip_cost) | feature_parameters(self)
        return parameters | {"norm": self.norm}

    # --- learning in blocks, and decisions

    @available_if(learns_in_blocks)
    def partial_fit(
        self,
        X: Matrix,
        y: Labels,
        classes: Labels = None,
        sample_weight: Values = None,
        flip_cost: Values = None,
    ) -> Self:
        """Take one incremental pass over a block of rows.

        All blocks together act as one training set.

        The first block determines what `fit` computes from all rows. An intercept with
        a cost has it at the centre of its rows (of sparse rows, at the origin); with
        ``intercept_cost="auto"`` the cost is that of this block. With
        ``radius="auto"``, radius and ridge are what `fit` would use for this block
        alone: for all rows together they would be smaller, about in proportion to the
        root of their number; with a given radius, ``l2="auto"`` is 0.
        ``class_weight="auto"`` means equal weights here, and the threshold is that of
        the optimum. There are no probabilities: it is not available with `calibration`.

        Parameters
        ----------
        X, y, sample_weight, flip_cost
            As in `fit`, for one block. A weight of 1 is that of a typical row in any
            block.
        classes : array, optional
            All labels; required in the first call, unless `fit` was called before.
            After `fit`, training continues from its classifier, with its radius and
            cost of the intercept where these are automatic.

        Returns
        -------
        self
            Without a certificate: `objective_`, `lower_bound_` and `gap_` are NaN, and
            `result_` is None. `radius_price_` is that of the method, and `n_iter_` the
            number of blocks.
        """
        feed_block(self, X, y, classes, sample_weight, flip_cost)
        return self

    def decision_function(self, X: Matrix) -> Vector:
        """Return w·x + b for every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
            The values, where X is. The sign is the decision for two classes, otherwise
            the largest one decides.
        """
        is_here = isinstance(X, np.ndarray) or sparse.issparse(X)
        is_on_disk = is_here and X.ndim == 2 and must_stay(X)
        is_elsewhere = is_remote(X) or is_remote(getattr(self, "coef_", None))
        check_is_fitted(self)
        if not (is_on_disk or is_elsewhere):
            with about("X"):
                check_indices(X)
                return super().decision_function(X)
        coef = dense(self.coef_)  # after `sparsify`
        if is_remote(X):
            backend = check_remote_features(self, X)
            if len(coef) == 1:
                intercept = float(self.intercept_[0])
                return backend.decision_values(X, coef[0], intercept)
            return backend.decision_values(X, coef, self.intercept_)
        # Block by block: a product with float32 rows would copy them all.
        rows = MemoryRows(as_rows(validate_data(self, X, reset=False, **ROWS)))
        columns = [rows.dot(weights) for weights in to_numpy(coef)]
        values = np.column_stack(columns) + to_numpy(self.intercept_)
        return without_single_column(values)

    def _trained_ball(self) -> dict[str, Any]:
        """Return the adversary of the training, for `audit.model_layers`."""
        flip_cost = self.flip_cost
        if getattr(self, "_flip_cost_by_row", False):
            flip_cost = None  # only `fit` knew the costs
        return {
            "radius": self.radius_,
            "flip_cost": flip_cost,
            "norm": norm_for(self.norm).p,
            "feature_cost": feature_costs(self),
        }
