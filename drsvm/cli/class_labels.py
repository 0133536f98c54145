"""Labels of files: which may be trained on, and which one a user means."""

from collections.abc import Mapping

import numpy as np

from drsvm.cli.screen import Screen
from drsvm.cli.settings import Settings
from drsvm.tables import DataFileError, Dataset
from drsvm.tables.cell_styles import TRUTH_WORDS, Style
from drsvm.tables.columns import LABEL_NAMES
from drsvm.tables.values import level_of

# With more different numbers than this, or dates, labels are rather amounts or times
MOST_NUMBERS = 20
MOST_DATES = 2


def check_labels(dataset: Dataset) -> np.ndarray:
    """Return the labels of a file: at least two, and not too many different ones."""
    labels = dataset.y
    if labels is None:
        raise DataFileError("no labels found.", dataset.path)
    column = "the first number of every line"
    if dataset.schema.label:
        column = f"column {dataset.schema.label!r}"
    classes = np.unique(labels)
    n = len(labels)
    if len(classes) < 2:
        raise DataFileError(
            f"all {n} rows have the label {classes.tolist()[0]!r} ({column}); a "
            "classifier needs at least two labels: choose another column with --label, "
            "or add rows of another class.",
            dataset.path,
        )
    some = ", ".join(map(str, classes[:4].tolist()))
    if len(classes) > 4:
        some += ", ..."
    # Of few rows, all may have labels of their own by chance.
    if n > 20 and len(classes) > n / 2:
        raise DataFileError(
            f"{column} has {len(classes)} different values in {n} rows ({some}), too "
            "many for class labels: choose a column with a few different values with "
            "--label, or turn its numbers into classes.",
            dataset.path,
        )
    if labels.dtype.kind == "f":
        raise DataFileError(
            f"{column} has numbers that are not whole ({some}), and labels are whole "
            "numbers or texts: choose another column with --label, or turn its numbers "
            "into classes such as low and high.",
            dataset.path,
        )
    return labels


def about_many_classes(
    dataset: Dataset, labels: np.ndarray, is_named: bool
) -> list[str]:
    """Return a note on labels that look like dates or amounts rather than classes.

    It is an error if neither the user nor the column says that it is the label.
    """
    classes = np.unique(labels)
    # Importing pyarrow takes long, and words alone need it.
    what = "numbers"
    most = MOST_NUMBERS
    if classes.dtype.kind == "U":
        from drsvm.tables.decimal_signs import AMBIGUOUS_DATE, number_style

        style = str(number_style(classes.tolist()))
        is_date = style == AMBIGUOUS_DATE or style.startswith(Style.ISO_DATE)
        what = "dates"
        most = MOST_DATES if is_date else len(classes)
    if len(classes) <= most:
        return []
    name = dataset.schema.label or LABEL_NAMES[0]
    text = (
        f"column {name!r} has {len(classes)} different {what}, each of which is a class"
    )
    if is_named or name.lower() in LABEL_NAMES:
        return [f"{text}: name another column if it is not the label."]
    raise DataFileError(
        f"{text}: confirm it with --label, or name another column.", dataset.path
    )


def unknown_label(labels: np.ndarray, classes: np.ndarray) -> str | None:
    """Return a label that is not one of the classes, or None."""
    unknown = np.setdiff1d(labels.astype(str), classes.astype(str))
    return str(unknown[0]) if len(unknown) else None


def labels_for(classes: np.ndarray, data: Dataset) -> np.ndarray | None:
    """Return the labels of a file in the type of the classes.

    None without labels, or if some are unknown.
    """
    if data.y is None or unknown_label(data.y, classes):
        return None
    return data.y.astype(classes.dtype)


def known_labels(
    data: Dataset, labels: np.ndarray, purpose: str = "testing"
) -> np.ndarray:
    """Return the labels of a file, all of which must be in the training file."""
    if data.y is None:
        raise DataFileError(
            f"no label column {data.schema.label!r}; {purpose} needs labels: name it "
            "with --label.",
            data.path,
        )
    unknown = unknown_label(data.y, labels)
    if unknown is not None:
        known = ", ".join(map(str, np.unique(labels)[:10].tolist()))
        raise DataFileError(
            f"has the label {unknown!r}, which is not in the training file ({known}).",
            data.path,
        )
    return data.y.astype(labels.dtype)


def label_called(labels: np.ndarray, name: str, option: str = "--positive") -> object:
    """Return the label whose text is `name`.

    Otherwise the only one that means the same, such as 0 for 0.0 or no for No.
    """
    known = np.unique(labels).tolist()
    # From the strictest way to compare to the most lenient
    for text in (str, level_of, _without_case):
        found = [label for label in known if text(label) == text(name)]
        if len(found) == 1:
            return found[0]
    listed = ", ".join(map(str, known[:10]))
    raise ValueError(f"{option} {name}: unknown label; the labels are {listed}.")


def _without_case(label: object) -> str:
    return str(label).casefold()


def positive_class(labels: np.ndarray, wanted: str | None) -> object:
    """Return the positive one of two classes.

    That is the one that is wanted, the yes of yes and no, or otherwise the later.
    """
    if wanted is not None:
        return label_called(labels, wanted)
    classes = np.unique(labels).tolist()
    # Pairs of words such as no and yes, false and true
    by_word = {str(label).lower(): label for label in classes}
    for no, yes in TRUTH_WORDS:
        if by_word.keys() == {no, yes}:
            return by_word[yes]
    return classes[-1]


def costs_by_label(
    costs: Mapping[str, float], labels: np.ndarray, option: str
) -> dict[object, float]:
    """Return costs by the labels whose texts were typed."""
    found = {}
    for text, cost in costs.items():
        found[label_called(labels, text, option)] = cost
    return found


def by_label(settings: Settings, labels: np.ndarray, screen: Screen) -> Settings:
    """Return settings whose costs by the texts of labels are by the labels."""
    settings = dict(settings)
    for name, option in (("flip_cost", "--flip-cost"), ("threshold", "--costs")):
        costs = settings.get(name)
        if isinstance(costs, dict):
            settings[name] = costs_by_label(costs, labels, option)
    classes = np.unique(labels)
    if isinstance(settings.get("threshold"), dict):
        from drsvm.defaults.threshold import goal_of

        # This raises errors, which should not wait for a fit.
        goal_of(settings["threshold"], classes, settings["fit_intercept"])
    elif "threshold" in settings and len(classes) > 2:
        screen.note(
            f"--threshold is for two classes, and there are {len(classes)}: it changes "
            "nothing. See --class-weight."
        )
    return settings
