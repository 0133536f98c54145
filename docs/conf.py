"""Sphinx configuration."""

from pathlib import Path

import drsvm

project = "drsvm"
author = "the drsvm developers"
copyright = f"2026, {author}"
version = release = drsvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}

sphinx_gallery_conf = {
    "examples_dirs": str(Path(__file__).parent.parent / "examples"),
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "abort_on_example_error": True,
}


def skip_member(app, what, name, obj, skip, options):
    """Omit the ``set_…_request`` methods, which scikit-learn generates with links into its documentation."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    """Connect the event handler."""
    app.connect("autodoc-skip-member", skip_member)
