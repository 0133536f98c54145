"""The computations behind a report: one fit, rivals, other radii, the worst case, labels to check."""

import hashlib
import platform
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import drsvm
from drsvm.audit.label_issues import (
    find_label_issues,
    flexible_classifier,
    robust_classifier,
)
from drsvm.audit.label_scores import LabelIssues
from drsvm.audit.worst_distribution import worst_case_distribution
from drsvm.estimators.kernel import WassersteinKernelSVC
from drsvm.estimators.other_radii import fitted_at, radii_to_try
from drsvm.estimators.scores import scores
from drsvm.problem.kernel_functions import dense
from drsvm.problem.result import Status
from drsvm.problem.validation import check_weights
from drsvm.report.analysis import Analysis
from drsvm.report.inputs import Figures, Given, Material, prepare, results_of
from drsvm.report.verdict import Alternative, worth_trying
from drsvm.tables.files import files_of
from drsvm.utils.annotations import Matrix
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import ReportProgress, capture_progress, following, stage

N_RADII = 8
FOLDS = 5
TREES = {"max_iter": 100, "max_leaf_nodes": 31}  # scikit-learn's defaults
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")

# The parts of the work that the stages take, as measured with a few hundred and with
# 30,000 samples.
STAGES = {
    "fitting": (0.0, 0.15),
    "fitting other classifiers": (0.15, 0.25),
    "checking the labels": (0.25, 0.35),
    "trying other radii": (0.35, 0.75),
    "finding the worst case": (0.75, 0.8),
    "drawing": (0.8, 1.0),
    "done": (1.0, 1.0),
}


def following_report(
    progress: Callable[[float, str], object] | None,
) -> AbstractContextManager[None]:
    """Call a function with the fraction of a whole report that is done, and with the name of the current stage."""
    if progress is None:
        return nullcontext()
    if not callable(progress):
        raise TypeError(
            f"progress must be a function of a fraction and a text, got {progress!r}."
        )

    def begin(name: str) -> ReportProgress:
        first, last = STAGES[name]

        def report_progress(share: float) -> None:
            progress(first + share * (last - first), name)

        report_progress(0.0)
        return report_progress

    return following(begin)


@contextmanager
def report_stage(name: str) -> Iterator[ReportProgress]:
    """Begin a stage of the report.

    Yield the function that reports its progress, as the work inside does not.
    """
    with stage(name), capture_progress() as report_progress:
        yield report_progress


def analyse(model, given: Given, *, positive) -> Analysis:
    """Fit and evaluate."""
    watch = Stopwatch()
    with report_stage("fitting"):
        material = prepare(model, given)
        index = 0
        classes = material.classifier.classes_.tolist()
        if positive is not None and positive not in classes:
            raise ValueError(
                f"positive={positive!r} is not one of the classes {classes}."
            )
        if len(classes) > 2:  # the largest class, unless one is chosen
            counts = np.unique(material.y, return_counts=True)[1]
            if positive is None:
                index = int(np.argmax(counts))
            else:
                index = classes.index(positive)
        # the positive class of the shown problem
        if len(classes) > 2:
            trained = classes[index]
        else:
            trained = classes[1]
        positive = trained if positive is None else positive
    with report_stage("fitting other classifiers"):
        models = {
            type(material.classifier).__name__: material.classifier,
            **_rivals(material),
        }
        if _time_left(material, watch).over:
            trees = None
        else:
            trees = _trees(material)
        if _time_left(material, watch).over:
            others = {}
        else:
            others = _others(material)
    with report_stage("checking the labels") as report_progress:
        issues = _label_issues(
            material, report_progress, _time_left(material, watch).share(3)
        )
    with report_stage("trying other radii") as report_progress:
        if material.curved:
            path = {}
        else:
            path = _path(material, report_progress, _time_left(material, watch))
    with report_stage("finding the worst case"):
        (X, y, _) = material.judged
        attack = {"positive": positive, **material.ball_of(material.judged.y)}
        return Analysis(
            material=material,
            index=index,
            positive=positive,
            models=models,
            path=path,
            weights=check_weights(material.row_weights(trained), len(material.y)),
            distribution=None
            if material.curved
            else worst_case_distribution(material.classifier, X, y, **attack),
            label_issues=issues,
            provenance=provenance(material),
            trees=trees,
            others=others,
        )


def _label_issues(
    material: Material, report_progress: ReportProgress, time: TimeLimit
) -> LabelIssues | None:
    if np.unique(material.y, return_counts=True)[1].min() < 2 or time.over:
        return None
    limit = time.seconds / FOLDS if time.limited else None
    settings = {"class_weight": material.setting("class_weight"), "max_time": limit}
    if material.curved:
        settings |= {"kind": WassersteinKernelSVC, "gamma": material.classifier.gamma_}
    model = robust_classifier(material.X, standardise=False, **settings)
    with warnings.catch_warnings(record=True, action="always") as caught:
        judges = {"estimator": model, "second_opinion": "auto", "cv": FOLDS}
        issues = find_label_issues(
            material.X,
            material.y,
            callback=lambda done, total: report_progress(done / total),
            **judges,
        )
    material.warn([warning.message for warning in caught], "Labels worth checking: ")
    return issues


def _rivals(material: Material) -> dict[str, ClassifierMixin]:
    weights = material.setting("class_weight")
    weights = None if weights == "auto" else weights  # the default of theirs
    logistic = LogisticRegression(class_weight=weights, max_iter=1000)
    rivals = {
        "LinearSVC": LinearSVC(class_weight=weights, random_state=0),
        "LogisticRegression": logistic
        if len(material.classifier.classes_) == 2
        else OneVsRestClassifier(logistic),
    }
    with warnings.catch_warnings(
        action="ignore"
    ):  # they keep their default iterations, even if they do not converge
        return {
            name: rival.fit(material.X, material.y) for name, rival in rivals.items()
        }


def _trees(material: Material) -> ClassifierMixin | None:
    """Return boosted trees, which follow boundaries of any shape.

    None where they need too much memory, or no rows.
    """
    if not material.judged.held_out:
        return None
    model = flexible_classifier(material.X, **TREES)
    if model is None:
        return None
    return model.fit(material.X, material.y)


def _others(material: Material) -> dict[Alternative, ClassifierMixin]:
    """Return classifiers that find more rows of a class that this one misses, with default settings."""
    model = material.classifier
    (X, y, held_out) = material.judged
    if not held_out:
        return {}
    found = worth_trying(
        scores(
            np.asarray(model.decision_function(X)), y, model.classes_, new_rows=True
        ),
        model,
    )
    with warnings.catch_warnings(action="ignore"):  # they are only offered
        return {
            one: clone(model).set_params(**one.settings).fit(material.X, material.y)
            for one in found
        }


def _time_left(material: Material, watch: Stopwatch) -> TimeLimit:
    seconds = material.setting("max_time")
    if seconds is None:
        return TimeLimit()
    return TimeLimit(seconds - watch.elapsed())


def _path(
    material: Material, report_progress: ReportProgress, time: TimeLimit
) -> dict[float, ClassifierMixin]:
    """Return the classifier and others like it by radius.

    None if w = 0 is optimal for every radius.
    """
    of_fit = material.classifier, material.X, material.y
    radii = radii_to_try(*of_fit, N_RADII, time.share(N_RADII))
    found = {}
    for place, model in enumerate(fitted_at(*of_fit, radii, time)):
        found |= {} if model is None else {radii[place]: model}
        report_progress((place + 1) / len(radii))
    late = any(
        result.status is Status.TIME_LIMIT
        for model in found.values()
        for result in results_of(model)
    )
    if late or len(found) < len(radii):
        text = "Time ran out before the classifiers for all radii were found: increase {} for exact curves."
        material.warn([Message(text, Parameter("max_time"))])
    return found


def provenance(material: Material) -> Figures:
    """Return what an auditor needs to recognise data and model: digests, versions and the date."""
    file = material.source.file
    judged = material.judged
    own = material.classifier
    if material.curved:
        parts = [own.dual_coef_, dense(own.landmarks_)]
    else:
        parts = [own.coef_]
    versions = {package: version(package) for package in PACKAGES}
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_file": file
        and {
            "name": file.name,
            "sha256": _digest(*map(Path.read_bytes, files_of(file))),
        },
        "training_rows_sha256": _digest_of_rows(material.X, material.y),
        "held_out_rows_sha256": _digest_of_rows(judged.X, judged.y)
        if judged.held_out
        else None,
        "model_sha256": _digest(
            *map(_floats, [*parts, own.intercept_]), _text(own.classes_)
        ),
        "versions": {
            "drsvm": drsvm.__version__,
            "python": platform.python_version(),
            **versions,
        },
    }


def _digest_of_rows(X: Matrix, y: np.ndarray) -> str:
    """Return the SHA-256 of the features as float64, row by row, and of the labels as lines of text."""
    if not sparse.issparse(X):
        return _digest(_floats(X), _text(y))
    rows = sparse.csr_array(X)
    return _digest(
        _floats(rows.data),
        rows.indices.astype("<i8"),
        rows.indptr.astype("<i8"),
        _text(y),
    )


def _floats(values) -> np.ndarray:
    return np.ascontiguousarray(values, dtype="<f8")


def _text(labels: np.ndarray) -> bytes:
    return "\n".join(map(str, labels.tolist())).encode()


def _digest(*parts) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
