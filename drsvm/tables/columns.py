"""The choice of the columns: which is the label, which are features, which are set aside."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from drsvm.tables.dataset import ReadOptions
from drsvm.tables.files import invalid
from drsvm.utils.messages import Message, Parameter

LABEL_NAMES = ("label", "target", "y", "class")
# The parameters that name several columns
ROLES = (
    "drop",
    "features",
    "id",
    "categorical",
    "numeric",
)


class Chosen(NamedTuple):
    """The columns by their role, and what could not be found."""

    label: str
    features: list[str]
    ids: list[str]
    categorical: list[str]
    numeric: list[str]
    verified: str | None
    by: list[str]  # one or none
    mentioned: list[tuple[str, str]]
    notes: list[str]
    problems: list[Message]


def choose_columns(names: list[str], options: ReadOptions) -> Chosen:
    """Return the columns that the options name.

    Names that do not exist are problems, with a suggestion.
    """
    problems: list[Message] = []
    notes: list[str] = []
    label = names[-1]
    if options.label is not None:
        column = _find(names, options.label, "label", problems)
        label = label if column is None else column
    else:
        called = [
            name
            for expected in LABEL_NAMES
            for name in names
            if name.lower() == expected
        ]
        if called:
            label = called[0]
            reason = "by its name"
        else:
            label = label
            reason = "the last column"
        note = "Column {!r} is used as the label ({}); choose another one with {}."
        notes = [Message(note, label, reason, Parameter("label"))]
    of_role = {
        role: _find_all(names, getattr(options, role), role, problems) for role in ROLES
    }
    verified, by = (
        _find_all(names, (getattr(options, role) or "",), role, problems)
        for role in ("verified", "by")
    )
    for role, called in (
        ("features", "a feature"),
        ("drop", "dropped"),
        ("id", "an id"),
    ):
        if label in of_role[role]:
            what = "{!r} is the label column and cannot be {}: remove it from {}."
            problems.append(
                Message(
                    what,
                    label,
                    called,
                    Parameter(role),
                    fixes=[Parameter(role, "", label)],
                )
            )
    both = [name for name in of_role["categorical"] if name in of_role["numeric"]]
    if both:
        fixes = [Parameter("numeric", "", name) for name in both]
        roles = Parameter("categorical"), Parameter("numeric")
        problems.append(
            Message("{!r} cannot be both {} and {}.", both[0], *roles, fixes=fixes)
        )
    aside = {label, *of_role["drop"], *of_role["id"], *verified, *by}
    features = [name for name in of_role["features"] or names if name not in aside]
    if not features:
        problems.append(
            Message(f"no feature columns remain besides the label column {label!r}.")
        )
    pairs = [
        (role, _find_all(names, (given,), role, problems))
        for role, given in options.mentioned
    ]
    mentioned = [(role, name) for role, columns in pairs for name in columns]
    for role, name in mentioned:
        if name not in features:
            what = "{}: this column is not a feature; omit it."
            problems.append(
                Message(what, Parameter(role, name), fixes=[Parameter(role, "", name)])
            )
    ids, categorical, numeric = (
        of_role[role] for role in ("id", "categorical", "numeric")
    )
    return Chosen(
        label,
        features,
        ids,
        categorical,
        numeric,
        next(iter(verified), None),
        by,
        mentioned,
        notes,
        problems,
    )


def listed(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Return the names as a list.

    Each text may contain several, separated by commas.
    """
    parts = [[text] if text in names else text.split(",") for text in given]
    return list(
        dict.fromkeys(part.strip() for texts in parts for part in texts if part.strip())
    )


def _find_all(
    names: list[str], given: tuple[str, ...], role: str, problems: list[Message]
) -> list[str]:
    wanted = listed(names, given)
    return [
        column
        for name in wanted
        if (column := _find(names, name, role, problems)) is not None
    ]


def found_or_error(
    path: Path, names: list[str], wanted: list[str], role: str
) -> list[str]:
    """Return columns given by name or index, all of which must exist."""
    problems: list[Message] = []
    columns = [_find(names, name, role, problems) for name in wanted]
    if problems:
        raise invalid(path, *problems)
    return [column for column in columns if column is not None]


def _find(
    names: list[str], wanted: str, role: str, problems: list[Message]
) -> str | None:
    """Return the column given by name or index.

    Otherwise note the problem, and return the nearest name or None.
    """
    if wanted in names:
        return wanted
    if re.fullmatch(r"-?\d+", wanted):
        index = int(wanted)
        if -len(names) <= index < len(names):
            return names[index]
        what = "{}: there are {} columns, 0 to {} (-1: the last)."
        problems.append(
            Message(what, Parameter(role, wanted), len(names), len(names) - 1)
        )
        return None
    near = close_names(names, wanted)
    if near:
        hint = f"did you mean {' or '.join(repr(name) for name in near)}?"
    else:
        hint = _all_of(names)
    fixes = [Parameter(role, near[0], wanted)] if near else []
    problems.append(
        Message(
            "there is no column {!r} ({}): {}",
            wanted,
            Parameter(role),
            hint,
            fixes=fixes,
        )
    )
    return near[0] if near else None


def close_names(names: list[str], wanted: str) -> list[str]:
    """Return up to three names similar to one that does not exist."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(wanted.lower(), list(lower), n=3)]


def _all_of(names: list[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:12]) + (
        ", ..." if len(names) > 12 else ""
    )
    return f"the columns are {listed}."


def absent_columns(names: list[str], needed: list[str]) -> str | None:
    """Return a text about the columns that a model needs and that are absent, with similar names, or None."""
    absent = [name for name in needed if name not in names]
    if not absent:
        return None
    near = {
        name: close_names([other for other in names if other not in needed], name)
        for name in absent
    }
    if len(absent) == 1:
        [name] = absent
        if near[name]:
            hint = f"did you mean {near[name][0]!r}?"
        else:
            hint = _all_of(names)
        return f"there is no column {name!r} (needed by the model): {hint}"
    some = [
        f"{name!r}" + (f" (is it {near[name][0]!r}?)" if near[name] else "")
        for name in absent[:20]
    ]
    if len(absent) > 20:
        more = f" and {len(absent) - 20} more"
    else:
        more = ""
    return f"{len(absent)} columns that the model needs are missing: {', '.join(some)}{more}; {_all_of(names)}"
