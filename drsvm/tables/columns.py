"""The choice of the columns: the label, the features, and those that are set aside."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from drsvm.tables.dataset import ReadOptions
from drsvm.tables.files import invalid
from drsvm.utils.messages import Message, Parameter

LABEL_NAMES = ("label", "target", "y", "class")
LISTED = 12  # a message lists this many columns of a file
LISTED_ABSENT = 20  # and this many that are missing
# Roles of at most one column, which is not a feature
SINGLE_ROLES = ("verified", "by", "test_by")
# What a column is that cannot be the label, by its role: the name of an option
NOT_THE_LABEL = {"features": "a feature", "drop": "dropped", "id": "an id"}


@dataclass(frozen=True)
class Chosen:
    """The label, the features, and what could not be found."""

    label: str
    features: list[str]
    # The columns by role, which is the name of the option of `ReadOptions` that names
    # them. Those of SINGLE_ROLES have one column or none.
    roles: dict[str, list[str]]
    # `ReadOptions.mentioned`, with the columns by name
    mentioned: list[tuple[str, str]]
    notes: list[Message]  # what was assumed
    problems: list[Message]  # what needs a decision


def choose_columns(names: list[str], options: ReadOptions) -> Chosen:
    """Return the columns that the options name.

    Parameters
    ----------
    names : list of str
        All columns of the file.
    options : ReadOptions
        Which of them are the label, features and so on.

    Returns
    -------
    Chosen
        Names that do not exist are problems in it, with a suggestion.
    """
    # 1. The label
    notes = []
    problems: list[Message] = []
    label = names[-1]
    if options.label is None:
        label, reason = _likely_label(names)
        note = "Column {!r} is used as the label ({}); choose another one with {}."
        notes.append(Message(note, label, reason, Parameter("label")))
    # At most one: none if the name was not given or does not exist.
    for name in _find_all(names, [options.label], "label", problems):
        label = name

    # 2. The columns of every other role, which must not contradict each other
    roles = {}
    for role in ("drop", "features", "id", "categorical", "numeric"):
        wanted = listed(names, getattr(options, role))
        roles[role] = _find_all(names, wanted, role, problems)
    for role in SINGLE_ROLES:
        roles[role] = _find_all(names, [getattr(options, role)], role, problems)
    problems += _contradictions(label, roles)

    # 3. The features: all other columns, unless they were named
    aside = {label}
    for role in ("drop", "id", *SINGLE_ROLES):
        aside.update(roles[role])
    features = [name for name in roles["features"] or names if name not in aside]
    if not features:
        what = f"no feature columns remain besides the label column {label!r}."
        problems.append(Message(what))

    # 4. The features that other parameters mention
    mentioned = []
    for role, given in options.mentioned:
        for name in _find_all(names, listed(names, [given]), role, problems):
            mentioned.append((role, name))
            if name not in features:
                what = "{}: this column is not a feature; omit it."
                fixes = [Parameter(role, "", name)]
                problems.append(Message(what, Parameter(role, name), fixes=fixes))
    return Chosen(label, features, roles, mentioned, notes, problems)


def _contradictions(label: str, roles: dict[str, list[str]]) -> list[Message]:
    """Return the problems with columns that have two roles."""
    problems = []
    for role, called in NOT_THE_LABEL.items():
        if label in roles[role]:
            what = "{!r} is the label column and cannot be {}: remove it from {}."
            fixes = [Parameter(role, "", label)]
            problems.append(Message(what, label, called, Parameter(role), fixes=fixes))
    both = [name for name in roles["categorical"] if name in roles["numeric"]]
    if both:
        what = "{!r} cannot be both {} and {}."
        given = (both[0], Parameter("categorical"), Parameter("numeric"))
        fixes = [Parameter("numeric", "", name) for name in both]
        problems.append(Message(what, *given, fixes=fixes))
    return problems


def _likely_label(names: list[str]) -> tuple[str, str]:
    """Return the column that is probably the label, and why."""
    for expected in LABEL_NAMES:
        for name in names:
            if name.lower() == expected:
                return name, "by its name"
    return names[-1], "the last column"


def listed(names: list[str], given: Iterable[str]) -> list[str]:
    """Return the names as a list.

    Each text may contain several, separated by commas.
    """
    found: list[str] = []
    for text in given:
        parts = [text] if text in names else text.split(",")
        found += map(str.strip, parts)
    return list(filter(None, dict.fromkeys(found)))


def found_or_error(
    path: Path, names: list[str], wanted: Iterable[str | None], role: str
) -> list[str]:
    """Return columns given by name or index, all of which must exist."""
    problems: list[Message] = []
    columns = _find_all(names, wanted, role, problems)
    if problems:
        raise invalid(path, *problems)
    return columns


def _find_all(
    names: list[str], wanted: Iterable[str | None], role: str, problems: list[Message]
) -> list[str]:
    """Return the columns given by name or index; None stands for no column.

    A column that does not exist is added to `problems`, and the one with the most
    similar name, if any, takes its place: so all problems of a file are found at once.
    """
    found = []
    n = len(names)
    for given in filter(None, wanted):
        if given in names:
            found.append(given)
        elif not re.fullmatch(r"-?\d+", given):
            fixes = []
            for name in close_names(names, given)[:1]:
                found.append(name)
                fixes.append(Parameter(role, name, given))
            what = "there is no column {!r} ({}): {}"
            hint = _suggestion(names, names, given)
            problems.append(Message(what, given, Parameter(role), hint, fixes=fixes))
        elif -n <= int(given) < n:
            found.append(names[int(given)])
        else:
            what = "{}: there are {} columns, 0 to {} (-1: the last)."
            problems.append(Message(what, Parameter(role, given), n, n - 1))
    return found


def close_names(names: list[str], wanted: str) -> list[str]:
    """Return up to three names similar to one that does not exist."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(wanted.lower(), list(lower), n=3)]


def _suggestion(names: list[str], candidates: list[str], wanted: str) -> str:
    """Return the end of a message about a name that does not exist."""
    near = close_names(candidates, wanted)
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return _all_of(names)


def _all_of(names: list[str]) -> str:
    """Return the end of a message that lists the columns of a file."""
    some = ", ".join(map(repr, names[:LISTED]))
    if len(names) > LISTED:
        some += ", ..."
    return f"the columns are {some}."


def absent_columns(names: list[str], needed: list[str]) -> str | None:
    """Return a text about columns that a model needs and that are absent.

    It suggests similar names. None if there are all columns.
    """
    # Sets, since there may be many thousands of columns.
    known = set(names)
    wanted = set(needed)
    absent = [name for name in needed if name not in known]
    others = [name for name in names if name not in wanted]
    if not absent:
        return None
    if len(absent) == 1:
        hint = _suggestion(names, others, absent[0])
        return f"there is no column {absent[0]!r} (needed by the model): {hint}"
    some = []
    for name in absent[:LISTED_ABSENT]:
        text = repr(name)
        for near in close_names(others, name)[:1]:
            text += f" (is it {near!r}?)"
        some.append(text)
    more = ""
    if len(absent) > LISTED_ABSENT:
        more = f" and {len(absent) - LISTED_ABSENT} more"
    return (
        f"{len(absent)} columns that the model needs are missing: {', '.join(some)}"
        f"{more}; {_all_of(names)}"
    )
