"""The choice of the columns: the label, the features, and those that are set aside."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from drsvm.tables.dataset import ReadOptions
from drsvm.tables.files import invalid
from drsvm.utils.messages import Message, Parameter

LABEL_NAMES = ("label", "target", "y", "class")
LISTED = 12  # a message lists this many columns of a file
LISTED_ABSENT = 20  # and this many that are missing


@dataclass
class Chosen:
    """The columns by their role, and what could not be found."""

    label: str
    features: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    categorical: list[str] = field(default_factory=list)
    numeric: list[str] = field(default_factory=list)
    verified: str | None = None
    by: str | None = None
    mentioned: list[tuple[str, str]] = field(default_factory=list)
    notes: list[Message] = field(default_factory=list)
    problems: list[Message] = field(default_factory=list)


def choose_columns(names: list[str], options: ReadOptions) -> Chosen:
    """Return the columns that the options name.

    Names that do not exist are problems, with a suggestion.
    """
    problems: list[Message] = []
    chosen = Chosen(names[-1], problems=problems)
    if options.label is not None:
        label = _find(names, options.label, "label", problems)
        chosen.label = label or chosen.label
    else:
        chosen.label, reason = _likely_label(names)
        note = "Column {!r} is used as the label ({}); choose another one with {}."
        message = Message(note, chosen.label, reason, Parameter("label"))
        chosen.notes.append(message)
    drop = _find_all(names, options.drop, "drop", problems)
    features = _find_all(names, options.features, "features", problems)
    chosen.ids = _find_all(names, options.id, "id", problems)
    chosen.categorical = _find_all(names, options.categorical, "categorical", problems)
    chosen.numeric = _find_all(names, options.numeric, "numeric", problems)
    if options.verified:
        chosen.verified = _find(names, options.verified, "verified", problems)
    if options.by:
        chosen.by = _find(names, options.by, "by", problems)
    _check_label(chosen.label, "features", features, "a feature", problems)
    _check_label(chosen.label, "drop", drop, "dropped", problems)
    _check_label(chosen.label, "id", chosen.ids, "an id", problems)
    both = [name for name in chosen.categorical if name in chosen.numeric]
    if both:
        fixes = [Parameter("numeric", "", name) for name in both]
        roles = (Parameter("categorical"), Parameter("numeric"))
        what = "{!r} cannot be both {} and {}."
        problems.append(Message(what, both[0], *roles, fixes=fixes))
    aside = {chosen.label, *drop, *chosen.ids, chosen.verified, chosen.by}
    chosen.features = [name for name in features or names if name not in aside]
    if not chosen.features:
        what = f"no feature columns remain besides the label column {chosen.label!r}."
        problems.append(Message(what))
    for role, given in options.mentioned:
        for name in _find_all(names, (given,), role, problems):
            chosen.mentioned.append((role, name))
    for role, name in chosen.mentioned:
        if name not in chosen.features:
            what = "{}: this column is not a feature; omit it."
            fixes = [Parameter(role, "", name)]
            problems.append(Message(what, Parameter(role, name), fixes=fixes))
    return chosen


def _likely_label(names: list[str]) -> tuple[str, str]:
    """Return the column that is probably the label, and why."""
    for expected in LABEL_NAMES:
        for name in names:
            if name.lower() == expected:
                return name, "by its name"
    return names[-1], "the last column"


def _check_label(
    label: str, role: str, columns: list[str], called: str, problems: list[Message]
) -> None:
    """Note a problem if the label is among the columns of another role."""
    if label in columns:
        what = "{!r} is the label column and cannot be {}: remove it from {}."
        fixes = [Parameter(role, "", label)]
        problems.append(Message(what, label, called, Parameter(role), fixes=fixes))


def listed(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Return the names as a list.

    Each text may contain several, separated by commas.
    """
    found: list[str] = []
    for text in given:
        parts = [text] if text in names else text.split(",")
        found += [part.strip() for part in parts]
    return [name for name in dict.fromkeys(found) if name]


def _find_all(
    names: list[str], given: tuple[str, ...], role: str, problems: list[Message]
) -> list[str]:
    columns = [_find(names, name, role, problems) for name in listed(names, given)]
    return [column for column in columns if column is not None]


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
    n = len(names)
    if re.fullmatch(r"-?\d+", wanted):
        index = int(wanted)
        if -n <= index < n:
            return names[index]
        what = "{}: there are {} columns, 0 to {} (-1: the last)."
        problems.append(Message(what, Parameter(role, wanted), n, n - 1))
        return None
    near = close_names(names, wanted)
    hint = _all_of(names)
    fixes = []
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
        fixes = [Parameter(role, near[0], wanted)]
    what = "there is no column {!r} ({}): {}"
    problems.append(Message(what, wanted, Parameter(role), hint, fixes=fixes))
    return near[0] if near else None


def close_names(names: list[str], wanted: str) -> list[str]:
    """Return up to three names similar to one that does not exist."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(wanted.lower(), list(lower), n=3)]


def _all_of(names: list[str]) -> str:
    some = ", ".join(map(repr, names[:LISTED]))
    more = ", ..." if len(names) > LISTED else ""
    return f"the columns are {some}{more}."


def absent_columns(names: list[str], needed: list[str]) -> str | None:
    """Return a text about columns that a model needs and that are absent.

    It suggests similar names. None if there are all columns.
    """
    absent = [name for name in needed if name not in names]
    if not absent:
        return None
    others = [name for name in names if name not in needed]
    if len(absent) == 1:
        [name] = absent
        near = close_names(others, name)
        hint = f"did you mean {near[0]!r}?" if near else _all_of(names)
        return f"there is no column {name!r} (needed by the model): {hint}"
    some = []
    for name in absent[:LISTED_ABSENT]:
        near = close_names(others, name)
        some.append(f"{name!r} (is it {near[0]!r}?)" if near else f"{name!r}")
    more = ""
    if len(absent) > LISTED_ABSENT:
        more = f" and {len(absent) - LISTED_ABSENT} more"
    what = f"{len(absent)} columns that the model needs are missing"
    return f"{what}: {', '.join(some)}{more}; {_all_of(names)}"
