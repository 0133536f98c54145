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
from drsvm.estimators.base import FitMixin
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
from drsvm.problem.kernel_functions import dense
from drsvm.problem.memory_rows import MemoryRows, must_stay
from drsvm.problem.norms import norm_for
from drsvm.problem.validation import as_rows
from drsvm.solvers.base import Solver
from drsvm.solvers.selection import is_auto
from drsvm.utils.annotations import Labels, Matrix, NormName, Values, Vector
from drsvm.utils.clock import TimeLimit


class WassersteinSVC(FitMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """Linear classifier for data with wrong labels and shifting features, with a proof.

    Its direction minimises the expected hinge loss under the worst distribution within
    a Wasserstein ball around the training data: this is what is proven. Where it
    decides is chosen afterwards (`threshold`). Standardise the features first: shifts
    are measured in their units. The defaults need no tuning; `WassersteinSVCCV` tunes
    them by cross-validation. See :doc:`/choosing` for the choice of parameters, and
    :doc:`/problem` for the problem.

    Parameters
    ----------
    radius : float or "auto", default="auto"
        Budget of the adversary: the average shift of a sample, in units of the
        features. "auto" is computed from the data (see `drsvm.auto_radius`), and
        smaller where this ranks rows out of fold clearly better.
    flip_cost : float or dict, default=inf
        Cost of flipping a label, in units of a shift: the adversary can flip a share
        ``radius / flip_cost`` of all labels. A dict has one cost for every class; `fit`
        takes one per row.
    norm : {1, 2, inf}, default=2
        Norm in which shifts are measured; ``inf`` gives sparse weights.
    l2 : float or "auto", default="auto"
        Coefficient of a ridge term ``l2 / 2 * ||w||²``, which makes the optimum unique.
        "auto" is computed from the data.
    fit_intercept : bool, default=True
        Whether the decision function has an intercept.
    intercept_cost : float or "auto", default="auto"
        Price of the intercept at the centre of the data (for sparse rows at the
        origin): it is regularised as if it were the weight of a constant column of this
        size. "auto" is the size of a typical column. ``inf``: a free intercept.
    feature_cost : array of shape (n_features,) or dict, optional
        Cost of a shift of each feature by 1, or a dict of some by name; by default 1.
        With ``inf`` the feature cannot shift, and only `l2` regularises its weight.
    monotonic_cst : array of shape (n_features,) or dict, optional
        1 where the decision function must increase with the feature, -1 where it must
        decrease, 0 where both are allowed; or a dict by name. For two classes only.
    class_weight : "auto", "balanced", dict or None, default="auto"
        Weights of the classes. "balanced": inversely proportional to their frequencies;
        "auto": half-way there, or as much closer as it takes for a classifier of two
        classes not to be constant; None: equal.
    threshold : {"accuracy", "balanced_accuracy", "optimum"} or dict, default="accuracy"
        What the threshold of a classifier for two classes is placed for, by decisions
        about rows that it has not seen. "optimum": where the problem's own intercept
        puts it. A dict has the cost of missing each class, such as ``{"no": 1, "yes":
        10}``. For other scores there is scikit-learn's ``TunedThresholdClassifierCV``.
    cv : int, splitter or iterable, optional
        Folds for threshold and calibration, as in scikit-learn. By default up to 5,000
        rows are left out one by one, by a formula, or in five folds; of more rows, one
        fold.
    calibration : "sigmoid" or None, default=None
        With "sigmoid", `predict_proba` and `predict_log_proba` are available.
    solver : str or Solver, default="auto"
        See `drsvm.solve`.
    tol : float, optional
        Proven gap between objective and optimum at which to stop; by default 1e-6 for
        solver="auto", otherwise the solver's own.
    max_iter : int, optional
        Iteration limit per class.
    max_time : float, optional
        Time limit for `fit` in seconds, which the classes share evenly. A class without
        time has weights of 0, still with a certificate.
    warm_start : bool, default=False
        Whether `fit` starts from the classifier of the previous fit, if that has the
        same classes and features.
    random_state : int or Generator, optional
        Seed for randomised solvers.
    verbose : int, default=0
        1: print a line for every class, and how far a long fit is; 2: also a line for
        every certificate.
    n_jobs : int, optional
        Number of classes fitted in parallel. Two classes use all cores regardless.
    engine : {"auto", "cpu", "gpu", "dask"}, default="auto"
        Where the work is done. "auto": where X is; "gpu" moves it there. "cpu" and
        "dask" check where X is.

    Attributes
    ----------
    coef_, intercept_ : arrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        The classifier.
    certified_intercept_ : array of shape (1 or n_classes,)
        The intercept with which `coef_` has the certificate: `intercept_`, unless the
        threshold moved.
    classes_ : array
        The labels.
    objective_, lower_bound_, gap_, radius_price_ : float or array of (n_classes,)
        The certificate of `coef_` with `certified_intercept_`: worst-case risk plus
        ridge term, a proven lower bound on the best possible value, their difference,
        and the price of one unit of radius. After `partial_fit` all but the price are
        NaN.
    radius_, l2_, intercept_cost_ : float
        The radius, the ridge and the price of the intercept that were used.
    class_factors_ : array of shape (n_classes,)
        By what the weights of the rows of each class were multiplied.
    threshold_ : float
        `certified_intercept_` minus `intercept_`.
    sigmoids_ : array of shape (1 or n_classes, 2)
        Slope and offset of the sigmoid of every decision, with
        ``calibration="sigmoid"``.
    n_iter_ : int
        Number of iterations (the maximum over the classes), or of blocks.
    result_ : Result, or list of them
        The full results of the runs, one per class if there are more than two. None
        after `partial_fit`.
    n_features_in_, feature_names_in_
        Number and names of the features.

    Notes
    -----
    :doc:`/choosing` says how the threshold is placed, and :doc:`/scikit_learn` what
    probabilities are, and what the problems of more than two classes are.

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

    # --- the steps of a fit that differ from those of other estimators

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
            # Only "auto" may choose other coordinates.
            problems = BinaryProblems.at_centre(given, in_span=is_auto(self.solver))
            problems = regularised(
                problems, self.radius, self.l2, self.solver, data, time
            )
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
        a price is priced at the centre of its rows (of sparse rows, at the origin);
        with ``intercept_cost="auto"`` the price is that of this block. With
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
            price of the intercept where these are automatic.

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
        if not (is_on_disk or is_elsewhere):
            return super().decision_function(X)
        check_is_fitted(self)
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
        return values.ravel() if len(coef) == 1 else values

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
