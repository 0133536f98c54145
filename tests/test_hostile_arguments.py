"""An argument that makes no sense gives a result all the same, or an error that names
it.
"""

import contextlib
import datetime
import math
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from public_calls import PUBLIC, call_of
from scipy import sparse
from thorough import examples

from drsvm.persistence import ModelFileError

# Of what no argument can be
VALUES = (
    None,
    "text",
    "",
    b"x",
    object(),
    math.nan,
    math.inf,
    -math.inf,
    -1,
    -0.5,
    0,
    0.0,
    1,
    2,
    1e308,
    -1e308,
    5e-324,
    10**400,
    True,
    1j,
    [],
    [1],
    [[1.0]],
    [[1.0], [1.0, 2.0]],
    {},
    {0: 1.0, 1: -1.0},
    {"a": "b"},
    {1, 2},
    range(16),
    ["a", 1] * 8,
    datetime.date(2020, 1, 1),
    np.float32(math.nan),
    np.int64(-3),
    np.array(3.0),
    np.zeros((0, 3)),
    np.ones((1, 3)),
    np.full((1, 3), math.nan),
    np.zeros((2, 2, 2)),
    np.zeros(16),
    np.ones(16),
    -np.ones(16),
    np.full(16, math.nan),
    np.full(16, 1e308),
    np.array(["a"] * 16),
    np.array(["2020-01-01"] * 16, dtype="datetime64[D]"),
    np.ones((16, 5)),
    np.full((16, 3), 1e308),
    np.full((16, 3), math.inf),
    np.full((16, 3), "a"),
    np.ones((16, 3)) * 1j,
    np.array([[1.0, None, 2.0]] * 16, dtype=object),
    sparse.csr_array((0, 3)),
    sparse.eye_array(16, 3, format="csr"),
    pd.Series(np.arange(16.0)),
    pd.DataFrame({"a": [1.0] * 16, "b": ["x"] * 16, "c": [1.0] * 16}),
    pd.DataFrame(np.ones((16, 3)), columns=["a", "a", "a"]),
)


def with_first(number):
    """Return a function that puts a number at the place of the first entry."""

    def change(array):
        changed = array.astype(np.float64)
        changed.flat[0] = number
        return changed

    return change


CHANGES = (
    lambda array: array[:1],
    lambda array: array[:0],
    lambda array: array[:-1],
    lambda array: array[::2],
    lambda array: np.concatenate([array, array]),
    lambda array: array.T,
    lambda array: array.ravel(),
    lambda array: array.reshape(-1, 1),
    lambda array: array.astype(str),
    lambda array: array.astype(object),
    lambda array: array.astype(bool),
    lambda array: array.astype(np.float16),
    lambda array: array * 1e99,
    lambda array: array * 1e-300,
    lambda array: np.full_like(array, array.flat[0]),
    lambda array: sparse.coo_array(np.atleast_2d(np.where(array > 0, math.nan, 0.0))),
    *map(with_first, (math.nan, math.inf, 1e308, -5.0)),
)

# Records are stored as they are given.
CHECKED = sorted({*PUBLIC} - {"Result", "Shift", "Status"})
# What is used by others: axes of matplotlib, the callbacks of users, processes
UNCHECKED = {"ax", "callback", "kernel", "metric", "n_jobs", "n_threads", "verbose"}
# Words that tell which argument is meant, besides its name and its singular
WORDS = {
    "X": "features?|sample_weight",
    "X_new": "X",
    "batches": "batch",
    "cv": "folds?",
    "estimator": "model",
    "estimators": "model",
    "path": "file|folder|directory|written",
    "radii": "radius",
    "y": "class|label",
}


def is_named(name, error):
    """Return whether an error is about an argument."""
    words = "|".join([name, name.removesuffix("s"), WORDS.get(name, name)])
    return re.search(rf"(?<![a-z])({words})(?![a-z])", str(error), re.I) is not None


# What once gave errors about something else
FOUND = (
    ("WassersteinKernelSVC", "X", np.full((16, 3), 1e308)),
    ("WassersteinKernelSVC", "flip_cost", range(16)),
    ("WassersteinSVCCV", "radii", 10**400),
    ("RadiusPathDisplay", "y", np.linspace(0.0, 1.0, 16)),
    ("find_label_issues", "sample_weight", np.full(16, 1e308)),
    ("measure_shift", "X", [[1.0], [1.0, 2.0]]),
    ("measure_shift", "y", None),
    ("radius_from_batches", "batches", [[1.0], [1.0, 2.0]]),
    ("radius_path", "n_radii", 0),
)


@pytest.mark.parametrize(("name", "argument", "value"), FOUND)
@pytest.mark.filterwarnings("ignore")
def test_these_arguments_are_named(tmp_path, name, argument, value):
    call = call_of(name, tmp_path)
    if isinstance(value, range):
        call.function(**{**call.arguments, argument: value})
        return
    with pytest.raises((ValueError, TypeError)) as found:
        call.function(**{**call.arguments, argument: value})
    assert is_named(argument, found.value)


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.filterwarnings("ignore")
@examples(2, 1_000)
@given(data=st.data())
def test_an_argument_is_taken_or_named(tmp_path_factory, name, data):
    folder = tmp_path_factory.getbasetemp()
    call = call_of(name, folder)
    argument = data.draw(st.sampled_from(sorted({*call.names} - UNCHECKED)))
    values = st.sampled_from(VALUES)
    usual = np.asarray(call.arguments.get(argument))
    if usual.dtype.kind in "fiu" and usual.ndim > 0:
        values |= st.sampled_from(CHANGES).map(lambda change: change(usual))
    arguments = {**call.arguments, argument: data.draw(values)}
    # What cannot be solved shall not take the time of a test.
    if "max_time" in call.names and argument != "max_time":
        arguments["max_time"] = 2.0
    try:
        with contextlib.chdir(folder):
            call.function(**arguments)
    except ImportError:
        pytest.skip("an optional dependency is not installed")
    except (ValueError, TypeError, OSError) as error:
        assert isinstance(error, ModelFileError) or is_named(argument, error)
    finally:
        close_figures()


def close_figures():
    """Close the figures of displays."""
    import matplotlib.pyplot as plt

    plt.close("all")
