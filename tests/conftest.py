"""Settings and fixtures shared by all tests.

Environment variables: DRSVM_HYPOTHESIS_PROFILE sets the number of random examples (dev,
ci, long), DRSVM_DATA is the folder of the data sets (NAME.svm.xz), DRSVM_REFERENCE the
folder of their proven optima (optima.csv).
"""

import csv
import functools
import lzma
import os
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from inside import clock, count_calls, interrupt_in, set_values  # noqa: F401  # fixtures
from problems import DUAL_ORDER
from sklearn.datasets import load_iris, make_classification
from sklearn.preprocessing import StandardScaler
from thorough import LONG, covering

from drsvm import Problem
from drsvm.utils import following

# A shell lets commands in the background ignore Ctrl-C, and tests of interrupts inherit
# that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dev", max_examples=50, deadline=None)
slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
once = {"derandomize": True, "database": None}
settings.register_profile(
    "ci", max_examples=20, deadline=None, suppress_health_check=slow[:1], **once
)
settings.register_profile(
    "long", max_examples=2_000, deadline=None, suppress_health_check=slow
)
settings.load_profile(os.environ.get("DRSVM_HYPOTHESIS_PROFILE", "ci"))

# Whose tests share a cluster: seconds to start
ON_A_CLUSTER = (
    "test_dask",
    "test_elsewhere",
    "test_kernel_data",
)
# Few tests, but long: they come first, so that no process is left with one of them at
# the end.
LONG_ONES = (
    "test_documents",
    "tests/report",
    "test_demo",
    "test_interrupts",
    "test_dask_losses",
    "cluster",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Let a file run in one process, and files that share a fixture.

    Documents, which take long, are on their own.
    """
    from xdist.scheduler import LoadFileScheduling

    class ByFixtures(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = Path(nodeid.partition("::")[0])
            if file.stem == "test_documents":
                return nodeid
            if file.stem in ON_A_CLUSTER:
                return "cluster"
            return str(file.parent if file.parent.name == "report" else file)

        def _assign_work_unit(self, node):
            for scope in [
                scope
                for scope in self.workqueue
                if any(name in scope for name in LONG_ONES)
            ]:
                self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return ByFixtures(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave the cross products of parameters to `make test-long`."""
    if LONG:
        return
    chosen = covering(items)
    config.hook.pytest_deselected(items=list(set(items).difference(chosen)))
    items[:] = chosen


class ProvenOptimum(NamedTuple):
    """Parameters and optimum of one instance (uniform weights, no intercept), proven up
    to `certified_gap`.
    """

    radius: float
    flip_cost: float
    optimum: float
    certified_gap: float
    radius_price: float


def file_in_folder_of(variable, name):
    """Return the path of a file in the folder given by an environment variable.

    Skip the test if there is none.
    """
    folder = os.environ.get(variable)
    if not folder:
        pytest.skip(f"{variable} is not set")
    path = Path(folder) / name
    if not path.exists():
        pytest.skip(f"{variable} has no {name}")
    return path


@functools.cache
def read_dataset(path):
    """Return the CSR matrix and the labels of an xz-compressed svmlight file."""
    from sklearn.datasets import load_svmlight_file

    with lzma.open(path) as file:
        return load_svmlight_file(file)


@functools.cache
def read_optima(path):
    """Return the optima by data set, weight norm q and ridge c."""
    with path.open(newline="") as file:
        return {
            (row["dataset"], float(row["q"]), float(row["c"])): ProvenOptimum(
                *(
                    float(row[key])
                    for key in (
                        "epsilon",
                        "kappa",
                        "optimum",
                        "certified_gap",
                        "lambda",
                    )
                )
            )
            for row in csv.DictReader(file)
        }


@pytest.fixture
def told():
    """Return a list that receives the stage and the share whenever work tells how far
    it is.
    """
    heard = []
    with following(lambda stage: lambda share: heard.append((stage, share))):
        yield heard


@pytest.fixture(scope="session")
def two_workers():
    """Return the client of a Dask cluster of two processes."""
    distributed = pytest.importorskip("distributed")
    from cluster import new_cluster

    with (
        new_cluster() as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def load_dataset():
    """Return a function that loads (X, y) of a data set by name.

    Tests that use it are marked `data`.
    """
    return lambda name: read_dataset(file_in_folder_of("DRSVM_DATA", f"{name}.svm.xz"))


@pytest.fixture
def proven_problem(load_dataset):
    """Return a function of (data set, norm q of the weights, ridge c).

    It returns the problem and its proven optimum.
    """
    file = file_in_folder_of("DRSVM_REFERENCE", "optima.csv")

    def proven(dataset, q, c):
        known = read_optima(file)[dataset, float(q), float(c)]
        ball = {"radius": known.radius, "flip_cost": known.flip_cost}
        X, y = load_dataset(dataset)
        return Problem(X, y, norm=DUAL_ORDER[q], l2=c, **ball), known

    return proven


@pytest.fixture
def three_classes():
    X, y = load_iris(return_X_y=True)
    return (
        StandardScaler().fit_transform(X),
        np.array(["setosa", "versicolor", "virginica"])[y],
    )


@pytest.fixture
def rare():
    """Overlapping classes, 8 % of the rows positive."""
    return make_classification(
        500,
        8,
        n_informative=4,
        weights=[0.92],
        class_sep=0.7,
        flip_y=0.02,
        random_state=3,
    )
