"""Sphinx configuration."""

import sys
from pathlib import Path

import drsvm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "drsvm"
author = "the drsvm developers"
copyright = f"2026, {author}"
version = release = drsvm.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "other_projects",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_static", "_templates"]
default_role = "py:obj"
suppress_warnings = ["myst.header"]  # parts of Markdown files start at any level
rst_prolog = ".. currentmodule:: drsvm\n"  # `solve` is a link on every page

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

plot_formats = [("png", 160)]
plot_html_show_formats = False
plot_html_show_source_link = False

mathjax_path = "mathjax/tex-svg.js"
mathjax3_config = {
    "options": {"enableMenu": False}
}  # the menu would load more from the network

html_theme = "pydata_sphinx_theme"
html_title = f"drsvm {release}"
html_static_path = ["_static"]
html_css_files = ["drsvm.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": False,
    "header_links_before_dropdown": 7,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    # The list of versions is a file of the site: nothing is fetched from elsewhere.
    "switcher": {
        "json_url": "_static/switcher.json",
        "version_match": ".".join(release.split(".")[:2]),
    },
    "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
}

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "subsection_order": [
        f"../examples/{theme}"
        for theme in ("labels", "shift", "choosing", "data", "solvers")
    ],
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "abort_on_example_error": True,
    # Scripts print what matters; values such as matplotlib's texts and legends are
    # noise
    "capture_repr": (),
    "doc_module": ("drsvm",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"drsvm": None},
    "write_computation_times": False,  # that page loads scripts from the network
}


def skip_member(app, what, name, obj, skip, options):
    """Omit methods that scikit-learn generates with links into its documentation, and
    those inside a run.
    """
    generated = name.startswith("set_") and name.endswith("_request")
    return True if generated or name in ("phases", "start") else None


def setup(app):
    """Connect the event handler."""
    app.connect("autodoc-skip-member", skip_member)
