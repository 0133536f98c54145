"""Configuration of the documentation."""

from pathlib import Path

import drsvm

project = "drsvm"
author = "the drsvm developers"
copyright = f"2026, {author}"
version = release = drsvm.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False}

# The gallery starts with the first example; index.rst then lists gallery/index.
examples = Path(__file__).parent.parent / "examples"
if any(examples.glob("plot_*.py")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {"examples_dirs": str(examples), "gallery_dirs": "gallery"}
