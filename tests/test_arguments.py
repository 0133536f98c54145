"""What all public names have in common: their arguments stay as they are."""

import contextlib
import warnings

import numpy as np
import pandas as pd
from public_calls import PUBLIC, call_of, drawn_rows
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from thorough import for_each

import drsvm
from drsvm.persistence import ModelFileError


def contents(value, path="", seen=()):
    """Yield what an argument consists of, each part with its path."""
    if isinstance(value, np.ndarray):
        content = value.tolist() if value.dtype.hasobject else value.tobytes()
        yield path, (value.shape, value.strides, value.dtype, str(value.flags), content)
    elif isinstance(value, pd.DataFrame):
        for name in value:
            yield from contents(value[name].to_numpy(), f"{path}.{name}", seen)
    elif isinstance(value, list | tuple):
        yield path, len(value)
        for k, each in enumerate(value):
            yield from contents(each, f"{path}[{k}]", seen)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from contents(each, f"{path}[{name!r}]", seen)
    elif hasattr(value, "__dict__") and not callable(value):
        if id(value) not in seen:
            yield from contents(vars(value), path, (*seen, id(value)))
    else:
        yield path, repr(value)


def as_lists(X):
    return X.tolist()


def with_duplicates(X):
    """Return CSR rows with unsorted indices, and each entry in two halves."""
    n, d = X.shape
    indices = np.tile(np.r_[d:0:-1, 1 : d + 1] - 1, n)
    entries = np.concatenate([X[:, ::-1], X], axis=1).ravel() / 2
    return sparse.csr_matrix((entries, indices, np.arange(n + 1) * 2 * d), X.shape)


FORMS = (
    np.ascontiguousarray,
    np.asfortranarray,
    np.float32,
    as_lists,
    pd.DataFrame,
    sparse.csr_array,
    sparse.csc_matrix,
    with_duplicates,
)


@for_each(name=PUBLIC, form=FORMS)
def test_arguments_stay_as_they_are(tmp_path, name, form):
    call = call_of(name, tmp_path)
    arguments = dict(call.arguments)
    for rows in {"X", "X_new"} & set(arguments):
        arguments[rows] = form(arguments[rows])
    before = dict(contents(arguments))
    call.function(**arguments)
    after = dict(contents(arguments))
    assert before.items() <= after.items()


MODELS = (
    LinearSVC(),
    LogisticRegression(),
    SVC(),
    make_pipeline(StandardScaler(), LinearSVC()),
    drsvm.WassersteinSVC(0.1),
    drsvm.WassersteinKernelSVC(radius=0.1),
)
AUDITS = (
    "certified_accuracy",
    "worst_case_risk",
    "worst_case_distribution",
    "explain",
    "measure_shift",
    "radius_from_batches",
    "save_model",
)


@for_each(name=AUDITS, model=MODELS)
def test_audited_models_stay_as_they_are(tmp_path, name, model):
    X, y, _ = drawn_rows()
    model.fit(X, y)
    call = call_of(name, tmp_path)
    parameter = "model" if "model" in call.names else "estimator"
    before = dict(contents(model))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Not every function takes every model.
        with contextlib.suppress(TypeError, ModelFileError):
            call.function(**call.arguments | {parameter: model})
    assert before.items() <= dict(contents(model)).items()
