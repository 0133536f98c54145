"""The choice of the label column and the feature columns."""

import re
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from drsvm.datasets.dataset import ReadOptions
from drsvm.datasets.files import DataFileError, invalid

LABEL_NAMES = ("label", "target", "y", "class")
ROW_NUMBER_NAMES = re.compile(r"(.*[\W_])?(id|index|row|key|nr|no)|unnamed: 0|column0|.*[a-z](Id|ID)")


def check_names(path: Path, names: list[str]) -> None:
    """Raise an error if a name occurs twice."""
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in seen:
            raise invalid(
                path,
                f"columns {seen[name]} and {index} are both called {name!r}: rename one in the first line.",
            )
        seen[name] = index


def choose_columns(path: Path, names: list[str], options: ReadOptions) -> tuple[str, list[str], list[str]]:
    """Return the label column, the feature columns, and notes on what was assumed."""
    label, notes = _label(path, names, options.label)
    dropped = [find(path, names, name, "--drop") for name in _listed(names, options.drop)]
    features = [find(path, names, name, "--features") for name in _listed(names, options.features)]
    features = [name for name in features or names if name not in dropped and (name != label or features)]
    if label in features:
        raise invalid(path, f"{label!r} is the label column and cannot be a feature: remove it from --features.")
    if label in dropped:
        raise invalid(path, f"{label!r} is the label column and cannot be dropped: choose another one with --label.")
    if not features:
        raise invalid(path, f"no feature columns remain besides the label column {label!r}.")
    return label, features, notes


def _listed(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Return the names as a list; each text may contain several, separated by commas."""
    parts = [[text] if text in names else text.split(",") for text in given]
    return list(dict.fromkeys(part.strip() for texts in parts for part in texts if part.strip()))


def _label(path: Path, names: list[str], wanted: str | None) -> tuple[str, list[str]]:
    if wanted is not None:
        return find(path, names, wanted, "--label"), []
    called = [name for expected in LABEL_NAMES for name in names if name.lower() == expected]
    chosen, reason = (called[0], "by its name") if called else (names[-1], "the last column")
    return chosen, [f"Column {chosen!r} is used as the label ({reason}); choose another one with --label."]


def find(path: Path, names: list[str], wanted: str, option: str) -> str:
    """Return the name of a column given by name or index."""
    if wanted in names:
        return wanted
    if re.fullmatch(r"-?\d+", wanted):
        index = int(wanted)
        if -len(names) <= index < len(names):
            return names[index]
        raise invalid(path, f"{option} {wanted}: there are {len(names)} columns, 0 to {len(names) - 1} (-1: the last).")
    raise no_such_column(path, names, wanted, option)


def no_such_column(path: Path, names: list[str], wanted: str, option: str) -> DataFileError:
    """Return an error that lists names similar to the missing one, or else all names."""
    lower = {name.lower(): name for name in names}
    near = [lower[name] for name in get_close_matches(wanted.lower(), list(lower), n=3)]
    listed = ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    hint = f"did you mean {' or '.join(repr(name) for name in near)}?" if near else f"the columns are {listed}."
    return invalid(path, f"there is no column {wanted!r} ({option}): {hint}")


def looks_like_row_number(name: str, values) -> bool:
    """Return whether a column seems to number the rows: distinct integers under a typical name."""
    telling = ROW_NUMBER_NAMES.fullmatch(name) or ROW_NUMBER_NAMES.fullmatch(name.lower())
    if not telling or len(values) < 20 or not np.isfinite(values).all():
        return False
    return bool((values == np.trunc(values)).all()) and len(np.unique(values)) == len(values)
