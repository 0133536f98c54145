"""Decision values of a linear or kernel classifier, of any library, on labelled rows.

A model with more than two classes has one decision function per class. Either all
classes are compared, and the largest decision value decides, or one class is evaluated
against the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.audit.class_codes import codes_of_several, codes_of_two
from drsvm.audit.model_layers import (
    AdversaryParameters,
    index_of,
    last_step,
    trained_parameters,
)
from drsvm.problem import validation
from drsvm.problem.backends import is_remote, to_numpy
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_functions import Rbf
from drsvm.problem.memory_rows import MemoryRows, dense
from drsvm.problem.result import Result
from drsvm.utils.annotations import Classifier, Labels, Matrix, Values
from drsvm.utils.lazy import cached_property

# Attributes of classifiers in which pairs of classes vote: SVC, OneVsOneClassifier
SIGNS_OF_VOTES = ("support_vectors_", "decision_function_shape", "pairwise_indices_")
# One decision function f becomes the values −f/2 and f/2 of its two sides, so that the
# larger one decides and their difference is f.
TWO_SIDES = np.array([[-0.5], [0.5]])


def values_at(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the entry of each column in the row that is given for it."""
    return values[codes, np.arange(len(codes))]


def runners_up(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the largest class j ≠ k for the class k given for each column."""
    others = values.copy()
    others[codes, np.arange(len(codes))] = -np.inf
    return others.argmax(axis=0)


def margins_of(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return f_k − max_{j ≠ k} f_j for the class k given for each column."""
    return values_at(values, codes) - values_at(values, runners_up(values, codes))


@dataclass(frozen=True, eq=False, kw_only=True)
class DecisionFunctions:
    """The decision functions of a model.

    There is one for two classes, or for a class against the rest; otherwise one per
    class.
    """

    # Of shape (number of functions, number of features, or of landmarks of a kernel)
    coef: np.ndarray
    # Of shape (number of functions,)
    intercept: np.ndarray
    # The labels that the model knows, or None
    classes: np.ndarray | None
    # The ball that a classifier of this library was trained with
    trained_parameters: AdversaryParameters
    feature_names: Sequence[str] | None
    kernel: KernelClassifier | None

    def at(self, X: Matrix) -> np.ndarray:
        """Return the values of rows in memory, of shape (number of functions, n)."""
        if self.kernel is not None:
            kernel = self.kernel._replace(coef=self.coef, intercept=self.intercept)
            return kernel.at(X).T
        products = [MemoryRows(X).dot(w) for w in self.coef]
        return np.array(products) + self.intercept[:, None]


@dataclass(frozen=True, eq=False, kw_only=True)
class DecisionValues(DecisionFunctions):
    """Labelled rows, and their values for all classes; the largest decides.

    Of two classes, each has a function, too: `coef` and `intercept` have a row for
    every class.
    """

    # Labels, in the order of the rows of `values`
    classes: np.ndarray
    # As the functions take them
    X: Matrix
    # The place of each row's label among the classes
    codes: np.ndarray
    # The masses of the rows, which sum to 1
    weights: np.ndarray
    # Of shape (number of classes, n)
    values: np.ndarray

    @cached_property
    def margins(self) -> np.ndarray:
        """m_i = f_y − max_{j ≠ y} f_j, by which the label of each row leads."""
        return margins_of(self.values, self.codes)

    @cached_property
    def flip_margins(self) -> np.ndarray:
        """The margins with which flips would gain as much if there were two classes.

        A flip to the lowest other class, which hurts most, turns the loss (1 − m)₊ into
        1 + m′, where m′ = max_j f_j − min_{j ≠ y} f_j. With two classes and the margin
        g it would gain min(2g, 1 + g), which is G for g = max(G/2, G − 1).
        """
        if len(self.values) == 2:
            return self.margins
        margins = self.margins
        lowest = runners_up(-self.values, self.codes)
        flipped = self.values.max(axis=0) - values_at(self.values, lowest)
        # The gain is m + m′ where m ≤ 1. Otherwise it is 1 + m′, and m′ ≥ m > 1.
        gains = margins + flipped
        of_small = np.maximum(0.5 * gains, gains - 1.0)
        return np.where(margins > 1.0, flipped, of_small)

    def worst_flips(self, rows: np.ndarray) -> np.ndarray:
        """Return the class to which a flip of each row's label hurts most."""
        return runners_up(-self.values[:, rows], self.codes[rows])


def decision_values(
    model: Classifier,
    X: Matrix,
    y: Labels,
    sample_weight: Values = None,
    positive: object = None,
    classes: Values = None,
) -> DecisionValues:
    """Check that model and data match, and return the values of all classes.

    With `positive`, one of several classes is evaluated against the rest. A model that
    does not know its classes has `classes`, of which y may lack some.
    """
    functions, X = decision_functions(model, X, positive)
    X = validation.check_rows(X)
    d = X.shape[1]
    if functions.kernel is None:
        for w in functions.coef:
            validation.check_weight_vector(w, d, "the model's coef")
    elif functions.kernel.landmarks.shape[1] != d:
        raise ValueError(
            f"X has {d} features, but the model was fitted with "
            f"{functions.kernel.landmarks.shape[1]}."
        )
    values = functions.at(X)
    return labelled(functions, X, y, values, sample_weight, positive, classes)


def labelled(
    functions: DecisionFunctions,
    X: Matrix,
    y: Labels,
    values: np.ndarray,
    sample_weight: Values = None,
    positive: object = None,
    all_labels: Values = None,
) -> DecisionValues:
    """Return the values of classes, given those of functions: an array (functions, n).

    Labels and weights are checked.
    """
    known = dict(vars(functions))
    classes = functions.classes
    # With one function, both sides get a value, so that two classes are like several.
    if len(functions.coef) == 1:
        values = TWO_SIDES * values
        known["coef"] = TWO_SIDES * functions.coef
        known["intercept"] = TWO_SIDES[:, 0] * functions.intercept
        classes, codes = codes_of_two(y, values, classes, positive, all_labels)
    else:
        classes, codes = codes_of_several(y, values, classes, all_labels)
    known["classes"] = classes
    weights = validation.check_weights(sample_weight, X.shape[0])
    return DecisionValues(**known, X=X, codes=codes, weights=weights, values=values)


def decision_functions(
    model: Classifier, X: Matrix, positive: object = None
) -> tuple[DecisionFunctions, Matrix]:
    """Return the decision functions of a model, and X as its last step gets it.

    The entries of X are not looked at.
    """
    classifier, X, names = last_step(model, X)
    classes = getattr(classifier, "classes_", None)
    if classes is not None:
        classes = np.asarray(classes)
    several = classes is not None and len(classes) > 2
    kernel = kernel_classifier(classifier)
    if kernel is not None and is_remote(X):
        raise TypeError(
            f"{type(classifier).__name__} has a kernel, which is audited on rows in "
            "memory: a random sample of some 10,000 of them will do."
        )
    if kernel is None:
        coef, intercept = _linear_functions(classifier, classes, positive)
    else:
        coef = kernel.coef
        intercept = kernel.intercept
    if several and positive is not None:
        index = index_of(positive, classes)
        coef = coef[[index]]
        intercept = intercept[[index]]
    functions = DecisionFunctions(
        coef=coef,
        intercept=intercept,
        classes=classes,
        trained_parameters=trained_parameters(classifier),
        feature_names=names,
        kernel=kernel,
    )
    return functions, X


def _linear_functions(
    classifier: Any, classes: np.ndarray | None, positive: object
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights and the intercepts of all functions of a linear classifier.

    Those that do not match the classes are rejected.
    """
    name = type(classifier).__name__
    # 0 if they are not known
    n_classes = 0 if classes is None else len(classes)
    votes = any(hasattr(classifier, sign) for sign in SIGNS_OF_VOTES)
    if n_classes > 2 and votes:
        wanted = "each class"
        if positive is not None:
            wanted = f"{positive!r} against the rest"
        raise ValueError(
            f"{name} compares pairs of classes and has no decision function for "
            f"{wanted}: use LinearSVC, or wrap the model in a OneVsRestClassifier."
        )
    coef, intercept = _weights(classifier)
    n = len(coef)
    if n_classes > 2 and n != n_classes:
        raise ValueError(
            f"{name} has {n_classes} classes but coef_ of shape {coef.shape}: without "
            "one row per class, no class can be evaluated against the rest. Pass "
            "(coef, intercept) of one decision function."
        )
    if len(intercept) not in (1, n) or not np.isfinite(intercept).all():
        each = " per class" if n > 1 else ""
        raise ValueError(
            f"the model's intercept must be one finite number{each}, got "
            f"{intercept.tolist()}."
        )
    knows_class = classes is not None or positive is not None
    if n_classes <= 2 and n > 1 and knows_class:
        # (coef, intercept) of all classes do not say to which class each row belongs.
        raise ValueError(
            f"model separates {n} classes: pass one row, (coef[k], intercept[k]), and "
            "its label as positive=."
        )
    return coef, np.broadcast_to(intercept, n)


def _weights(classifier: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return a row of weights and an intercept for every decision function."""
    if hasattr(classifier, "label_binarizer_"):
        # OneVsRestClassifier: one binary classifier per class
        parts = [_weights(each) for each in classifier.estimators_]
        coefs, intercepts = zip(*parts, strict=True)
        return np.concatenate(coefs), np.concatenate(intercepts)
    if isinstance(classifier, tuple | list) and len(classifier) == 2:
        coef, intercept = classifier
    elif isinstance(classifier, Result):
        coef = classifier.weights
        intercept = classifier.intercept
    else:
        coef = getattr(classifier, "coef_", None)
        intercept = getattr(classifier, "intercept_", 0.0)
    if coef is None:
        raise TypeError(
            "model must be a fitted linear classifier, a Pipeline ending in one, or "
            f"(coef, intercept): {type(classifier).__name__} has no coef_. It is not "
            "fitted, or not linear, and cannot be audited."
        )
    coef = np.atleast_2d(to_numpy(dense(coef))).astype(np.float64)
    return coef, np.ravel(to_numpy(intercept)).astype(np.float64)


def kernel_classifier(model: Any) -> KernelClassifier | None:
    """Return the decision functions of a classifier with a kernel.

    None if it is of another kind, or has weights, as with a linear kernel.
    """
    if not hasattr(model, "dual_coef_") or hasattr(model, "coef_"):
        return None
    if len(getattr(model, "classes_", ())) < 2:
        # A OneClassSVM, or an SVR
        return None
    if hasattr(model, "_kernel_classifier"):
        # WassersteinKernelSVC
        classifier = model._kernel_classifier()
        if isinstance(classifier.function, Rbf):
            return classifier
    elif hasattr(model, "support_vectors_") and len(model.classes_) == 2:
        # scikit-learn's SVC and NuSVC; with more classes, pairs of them vote.
        if model.kernel == "rbf":
            return KernelClassifier(
                function=Rbf(float(model._gamma)),
                landmarks=model.support_vectors_,
                coef=dense(model.dual_coef_),
                intercept=model.intercept_,
                classes=model.classes_,
                scales=None,
            )
    else:
        return None
    raise ValueError(
        f"Nothing is claimed about the worst case of this {type(model).__name__}: "
        f"with kernel={model.kernel!r}, no multiple of a shift of the features is "
        "known to bound the shift in the feature space. Use kernel='rbf' or "
        "kernel='linear'."
    )
