"""What the estimators have in common: scikit-learn's classes, and the link to their documentation."""

from importlib import metadata
from pathlib import Path

from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin
from sklearn.linear_model._base import LinearClassifierMixin, SparseCoefMixin

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


class RobustClassifier(CallbackSupportMixin, LinearClassifierMixin, SparseCoefMixin, BaseEstimator):
    """A linear classifier for dense and sparse data, whose HTML representation links to its documentation."""

    _doc_link_module = "drsvm"

    @property
    def _doc_link_template(self) -> str:
        found = address()
        return found and f"{found}/generated/drsvm.{type(self).__name__}.html"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
