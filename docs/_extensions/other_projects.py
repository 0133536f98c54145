"""Links into the documentation of other projects that need no network.

Sphinx reads the names of another project from its inventory. Where that cannot be
fetched, an inventory of the names that these pages use takes its place: their addresses
follow the same pattern for years.
"""

import zlib
from pathlib import Path
from typing import NamedTuple


class Project(NamedTuple):
    """Another project: where its documentation is, the address of a name's page, and
    the names used here by type.
    """

    address: str
    page: str
    names: dict[str, str]


PROJECTS = {
    "numpy": Project(
        "https://numpy.org/doc/stable/",
        "reference/generated/{name}.html#$",
        {"py:class": "numpy.memmap"},
    ),
    "scipy": Project(
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{name}.html#$",
        {"py:class": "scipy.sparse.csr_array"},
    ),
    "sklearn": Project(
        "https://scikit-learn.org/stable/",
        "modules/generated/{name}.html#$",
        {
            "py:class": (
                "sklearn.calibration.CalibratedClassifierCV"
                " sklearn.compose.ColumnTransformer"
                " sklearn.linear_model.LogisticRegression"
                " sklearn.model_selection.GridSearchCV"
                " sklearn.preprocessing.StandardScaler sklearn.svm.LinearSVC"
            ),
            "py:function": (  # in the code of examples
                "sklearn.datasets.load_breast_cancer"
                " sklearn.model_selection.train_test_split"
                " sklearn.pipeline.make_pipeline"
            ),
        },
    ),
}

LABELS = {
    "sklearn": {
        "accuracy_score": "modules/model_evaluation.html#accuracy-score Accuracy score",
        "metadata_routing": "metadata_routing.html#metadata-routing Metadata Routing",
    }
}
"""Sections of other projects that inherited docstrings refer to."""


def inventory(name: str, project: Project) -> bytes:
    """Return an inventory of the names used here, in Sphinx's format."""
    head = (
        f"# Sphinx inventory version 2\n# Project: {name}\n# Version: \n# The remainder"
        " is compressed using zlib.\n"
    )
    entries = [
        f"{entry} {kind} 1 {project.page.format(name=entry)} -"
        for kind, entries in project.names.items()
        for entry in entries.split()
    ]
    entries += [
        f"{label} std:label -1 {place}" for label, place in LABELS.get(name, {}).items()
    ]
    return head.encode() + zlib.compress("\n".join([*entries, ""]).encode())


def write_inventories(app, config):
    """Write the inventories, and let intersphinx use them where it finds no others."""
    folder = Path(app.outdir).parent / "inventories"
    folder.mkdir(parents=True, exist_ok=True)
    config.intersphinx_timeout = 5
    for name, project in PROJECTS.items():
        file = folder / f"{name}.inv"
        file.write_bytes(inventory(name, project))
        config.intersphinx_mapping[name] = (project.address, (None, str(file)))


def setup(app):
    """Register the extension."""
    app.connect(
        "config-inited", write_inventories, priority=100
    )  # before intersphinx reads its mapping
    return {"parallel_read_safe": True}
