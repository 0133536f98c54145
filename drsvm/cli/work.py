"""Steps that several commands share: reading, splitting, scaling, and care for output files."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.cli.options import DataOptions, FileOptions, SplitOptions
from drsvm.cli.screen import Screen
from drsvm.cli.streams import STANDARD, check_inputs, name_of, read_from
from drsvm.cli.tables import csv_text
from drsvm.datasets import DataFileError, Dataset, Schema, read, read_like
from drsvm.persistence.model_files import SavedModel, is_model_file, load_saved, write_whole


@dataclass(frozen=True)
class Parts:
    """Training rows with their numbers in the file (from 0) and, where there are any, test rows."""

    X: Any
    y: np.ndarray
    rows: np.ndarray
    X_test: Any
    y_test: np.ndarray | None
    data: Dataset


def load_parts(file: Path, data: DataOptions, split: SplitOptions, screen: Screen) -> Parts:
    """Read a file, and split it or read the test file."""
    if split.test is not None and split.test_size is not None:
        raise ValueError("give --test or --test-size, not both.")
    check_inputs(None, [file, split.test])
    options = data.read_options()
    with screen.progress(f"reading {name_of(file)}"):
        dataset = read_from(file, lambda path: read(path, options))
        test = split.test and read_from(split.test, lambda path: read_like(path, dataset.schema, options))
    tell(dataset, screen)
    labels = _labels(dataset)
    if test is not None:
        tell(test, screen)
        return Parts(dataset.X, labels, dataset.rows, test.X, _known_labels(test, labels), dataset)
    if split.test_size is not None:
        return Parts(*_split(dataset, labels, split), data=dataset)
    return Parts(dataset.X, labels, dataset.rows, None, None, dataset)


def tell(dataset: Dataset, screen: Screen) -> None:
    """Pass on what the reader took for granted."""
    for text in dataset.notes:
        screen.note(text)


def _labels(dataset: Dataset) -> np.ndarray:
    labels = dataset.y
    column = f"column {dataset.schema.label!r}" if dataset.schema.label else "the first number of every line"
    if labels is None:
        raise DataFileError(f"{dataset.path}: has no labels.")
    classes = np.unique(labels)
    n = len(labels)
    if len(classes) < 2:
        raise DataFileError(
            f"{dataset.path}: all {n} rows have the label {classes.tolist()[0]!r} ({column}): a classifier needs two "
            "labels at least; choose another column with --label, or add rows of another class."
        )
    if labels.dtype.kind == "f" or (n > 20 and len(classes) > n / 2):
        some = ", ".join(str(label) for label in classes[:4].tolist())
        raise DataFileError(
            f"{dataset.path}: {column} has {len(classes)} different values in {n} rows ({some}, ...), which are no "
            "classes: choose the label column with --label."
        )
    return labels


def _known_labels(test: Dataset, labels: np.ndarray) -> np.ndarray:
    if test.y is None:
        raise DataFileError(f"{test.path}: has no label column {test.schema.label!r}, which testing needs.")
    unknown = np.setdiff1d(test.y.astype(str), labels.astype(str))
    if len(unknown):
        raise DataFileError(f"{test.path}: has the label {unknown[0]!r}, which the training file has not.")
    return test.y.astype(labels.dtype) if labels.dtype.kind != "U" else test.y.astype(str)


def _split(dataset: Dataset, labels: np.ndarray, split: SplitOptions):
    from sklearn.model_selection import train_test_split

    size = split.test_size or 0.0
    size = int(size) if size >= 1 else size
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2:
        rare = classes.tolist()[int(counts.argmin())]
        raise DataFileError(f"{dataset.path}: one row only has the label {rare!r}: --test-size needs two of each.")
    try:
        X, X_test, y, y_test, rows, _ = train_test_split(
            dataset.X, labels, dataset.rows, test_size=size, random_state=split.seed, stratify=labels
        )
    except ValueError as error:
        raise ValueError(f"--test-size {split.test_size:g}: {error}") from None
    return X, y, rows, X_test, y_test


def load_for_model(model: Path, file: Path, options: FileOptions, screen: Screen) -> tuple[SavedModel, Dataset]:
    """Load a model and read a file in the way it was trained."""
    check_inputs(model, [file])
    with screen.progress(f"reading {model.name} and {name_of(file)}"):
        saved = load_saved(model)
        if not isinstance(saved.metadata.get("schema"), dict):
            raise ValueError(f"{model}: does not say how its data files are read; it was not saved by drsvm fit.")
        dataset = read_for(saved, file, options)
    tell(dataset, screen)
    return saved, dataset


def read_for(saved: SavedModel, file: Path, options: FileOptions) -> Dataset:
    """Read a file in the way a model was trained; one with an imputer fills empty cells unless told otherwise."""
    imputes = "simpleimputer" in getattr(saved.model, "named_steps", {})
    wanted = options.read_options()
    if wanted.missing == "median" and not imputes:
        raise ValueError("--missing median: the model was trained without it; train again, or give --missing drop.")
    if wanted.missing == "error" and imputes:
        wanted = replace(wanted, missing="median")
    return read_from(file, lambda path: read_like(path, Schema.from_dict(saved.metadata["schema"]), wanted))


def preprocessing_steps(X, standardise: bool, fill: bool) -> list[Any]:
    """Return unfitted steps: an imputer, a scaler; sparse data are not centred, because that would fill them."""
    from scipy import sparse
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    imputer = [SimpleImputer(strategy="median", keep_empty_features=True)] if fill else []
    return [*imputer, *([StandardScaler(with_mean=not sparse.issparse(X))] if standardise else [])]


def preprocessed(parts: Parts, *, standardise: bool, fill: bool) -> tuple[Any, Any]:
    """Return training and test rows after the preprocessing."""
    X, X_test = parts.X, parts.X_test
    for step in preprocessing_steps(X, standardise, fill):
        X = step.fit_transform(X)
        X_test = None if X_test is None else step.transform(X_test)
    return X, X_test


def label_called(labels: np.ndarray, name: str) -> Any:
    """Return the label that is written like this."""
    for label in np.unique(labels).tolist():
        if str(label) == name:
            return label
    known = ", ".join(str(label) for label in np.unique(labels).tolist()[:10])
    raise ValueError(f"--positive {name}: the labels are {known}.")


def two_classes(labels: np.ndarray, positive: str | None, *more: np.ndarray | None) -> tuple[str, list[Any]]:
    """Return the name of the positive side and the labels as truth values; more than two classes need `positive`."""
    classes = np.unique(labels)
    names = [str(label) for label in classes.tolist()]
    if positive is None and len(classes) > 2:
        raise ValueError(
            f"there are {len(classes)} classes ({', '.join(names[:6])}{', ...' if len(names) > 6 else ''}): choose the "
            f"one to separate from the rest, for instance --positive {names[0]}."
        )
    chosen = names[-1] if positive is None else str(label_called(labels, positive))
    return chosen, [None if y is None else y.astype(str) == chosen for y in (labels, *more)]


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse output files that cannot be written or that are input files, before any work is done."""
    taken = [path for path in inputs if path is not None]
    for output in outputs:
        if output is None:
            continue
        if output == STANDARD:
            raise ValueError("-: nothing but predictions is written to the standard output: name a file.")
        if any(_same(output, other) for other in taken):
            raise ValueError(
                f"{output}: is also another file of this command: choose another name, lest it be overwritten."
            )
        folder = output.resolve().parent
        if output.is_dir():
            raise ValueError(f"{output}: is a folder: name a file in it.")
        if not folder.is_dir():
            raise ValueError(f"{output}: there is no folder {folder}: create it first.")
        if not os.access(folder, os.W_OK):
            raise ValueError(f"{output}: the folder {folder} may not be written to.")
        taken.append(output)


def write_outputs(csv: Path | None, columns: dict[str, Any], plot: Path | None, draw: Callable[[Path], bytes]) -> None:
    """Write the table and the plot that were asked for, once both are ready."""
    outputs = {} if csv is None else {csv: csv_text(columns).encode()}
    if plot is not None:
        outputs[plot] = draw(plot)
    for target, content in outputs.items():
        write_whole(target, content)


def check_model_output(output: Path | None) -> None:
    """Refuse to overwrite what is no model."""
    if output is not None and output.is_file() and output.stat().st_size and not is_model_file(output):
        raise ValueError(f"{output}: exists and is no drsvm model: delete it first, or choose another name.")


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def accuracy(model, X, y) -> dict[str, float]:
    """Return the share of correct labels, over all rows and as a mean over the classes."""
    right = model.predict(X) == y
    return {
        "accuracy": float(np.mean(right)),
        "balanced_accuracy": float(np.mean([np.mean(right[y == label]) for label in np.unique(y)])),
        "rows": len(y),
    }
