"""Where an estimator is documented: the link in its HTML representation."""

from importlib import metadata
from pathlib import Path

_BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
"""Where `make docs` writes the pages of a source checkout."""


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


class DocumentedMixin:
    """Links the HTML representation of an estimator to its page of the documentation."""

    _doc_link_module = "drsvm"

    @property
    def _doc_link_template(self) -> str:
        found = address()
        return found and f"{found}/generated/drsvm.{type(self).__name__}.html"
