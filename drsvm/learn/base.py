"""What the estimators have in common: scikit-learn's classes, and the link to their documentation."""

from importlib import metadata
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin
from sklearn.utils.metaestimators import available_if

from drsvm.learn.probability import log_probabilities, probabilities
from drsvm.model.backends import backend_of

_BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"  # of a source checkout


def address() -> str:
    """Return where the documentation is: built beside the code, or as published with the package; "" if nowhere."""
    if (_BUILT / "index.html").is_file():
        return _BUILT.as_uri()
    try:
        urls = metadata.metadata("drsvm").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    named = dict(url.split(", ", 1) for url in urls)
    return named.get("Documentation", "").rstrip("/")


def _is_calibrated(estimator) -> bool:
    if estimator.calibration is None:
        raise AttributeError("There are probabilities with calibration='sigmoid' only: give it, and fit.")
    return True


class CommonMixin(CallbackSupportMixin):
    """Probabilities, dense and sparse data, and an HTML representation that links to the documentation."""

    _doc_link_module = "drsvm"

    @property
    def _doc_link_template(self) -> str:
        found = address()
        return found and f"{found}/generated/drsvm.{type(self).__name__}.html"

    @available_if(_is_calibrated)
    def predict_proba(self, X):
        """Return the probability of every class, of shape (n_samples, n_classes), with ``calibration="sigmoid"``.

        The largest one is that of the predicted class. Rows on a cluster or a card have theirs there.
        """
        return self._by_row(probabilities, X)

    @available_if(_is_calibrated)
    def predict_log_proba(self, X):
        """Return the logarithms of the probabilities, of shape (n_samples, n_classes)."""
        return self._by_row(log_probabilities, X)

    def _by_row(self: Any, function, X):
        decisions = self.decision_function(X)
        if not hasattr(self, "sigmoids_"):
            raise NotFittedError(
                f"This {type(self).__name__} has no probabilities, because its fit had no calibration or was "
                "interrupted: fit it again."
            )
        backend = backend_of(X)
        if backend is None:
            return function(decisions, self.sigmoids_)
        return backend.by_row(function, decisions, self.sigmoids_, len(self.classes_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.sparse = True
        return tags


class RobustClassifier(CommonMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """A linear classifier."""
