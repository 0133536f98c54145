"""The link from an estimator's HTML representation to its page."""

from importlib import metadata

import pytest

from drsvm import WassersteinSVC, WassersteinSVCCV


@pytest.mark.parametrize(
    "estimator",
    [WassersteinSVC(), WassersteinSVCCV()],
    ids=lambda one: type(one).__name__,
)
def test_published_pages(estimator, tmp_path, monkeypatch):
    package = metadata.PathDistribution(tmp_path)
    (tmp_path / "METADATA").write_text(
        "Name: drsvm\nProject-URL: Documentation, https://docs.example/\n"
    )
    monkeypatch.setattr(metadata, "metadata", lambda name: package.metadata)
    page = f"https://docs.example/generated/drsvm.{type(estimator).__name__}.html"
    assert estimator._get_doc_link() == page
    assert page in estimator._repr_html_()


def test_no_pages_no_link(monkeypatch):
    def unknown(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", unknown)
    assert WassersteinSVC()._get_doc_link() == ""
    assert "Documentation for WassersteinSVC" not in WassersteinSVC()._repr_html_()
