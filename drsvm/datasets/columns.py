"""The choice of the columns: which is the label, which are features, which are set aside."""

import re
from difflib import get_close_matches
from typing import NamedTuple

from drsvm.datasets.dataset import ReadOptions
from drsvm.datasets.files import Fix

LABEL_NAMES = ("label", "target", "y", "class")

Problem = tuple[str, list[Fix]]
"""What is wrong, and the changes of the options that avoid it."""


class Chosen(NamedTuple):
    """The columns by their role, and what could not be found."""

    label: str
    features: list[str]
    ids: list[str]
    categorical: list[str]
    numeric: list[str]
    verified: str | None
    mentioned: list[tuple[str, str]]
    notes: list[str]
    problems: list[Problem]


def choose_columns(names: list[str], options: ReadOptions) -> Chosen:
    """Return the columns that the options name; names that do not exist are problems, with a suggestion."""
    problems: list[Problem] = []
    label, notes = _label(names, options.label, problems)
    by_option = {
        option: [found for name in listed(names, given) if (found := find(names, name, option, problems)) is not None]
        for option, given in (
            ("--drop", options.drop),
            ("--features", options.features),
            ("--id", options.id),
            ("--categorical", options.categorical),
            ("--numeric", options.numeric),
            ("--verified", (options.verified,) if options.verified else ()),
        )
    }
    for option, role in (("--features", "a feature"), ("--drop", "dropped"), ("--id", "an id")):
        if label in by_option[option]:
            fixes = [Fix(option=option, old=label)]
            problems.append((f"{label!r} is the label column and cannot be {role}: remove it from {option}.", fixes))
    both = [name for name in by_option["--categorical"] if name in by_option["--numeric"]]
    if both:
        fixes = [Fix(option="--numeric", old=name) for name in both]
        problems.append((f"{both[0]!r} cannot be both --categorical and --numeric.", fixes))
    aside = {label, *by_option["--drop"], *by_option["--id"], *by_option["--verified"]}
    features = [name for name in by_option["--features"] or names if name not in aside]
    if not features:
        problems.append((f"no feature columns remain besides the label column {label!r}.", []))
    return Chosen(
        label=label,
        features=features,
        ids=by_option["--id"],
        categorical=by_option["--categorical"],
        numeric=by_option["--numeric"],
        verified=next(iter(by_option["--verified"]), None),
        mentioned=_mentioned(names, features, options, problems),
        notes=notes,
        problems=problems,
    )


def _mentioned(names: list[str], features: list[str], options: ReadOptions, problems: list[Problem]):
    """Return the options that name features; other columns are problems."""
    pairs = [(option, name) for option, given in options.mentioned for name in listed(names, (given,))]
    found = [(option, found) for option, name in pairs if (found := find(names, name, option, problems)) is not None]
    for option, name in found:
        if name not in features:
            fixes = [Fix(option=option, old=name)]
            problems.append((f"{option} {name}: this column is not a feature; remove the option.", fixes))
    return found


def listed(names: list[str], given: tuple[str, ...]) -> list[str]:
    """Return the names as a list; each text may contain several, separated by commas."""
    parts = [[text] if text in names else text.split(",") for text in given]
    return list(dict.fromkeys(part.strip() for texts in parts for part in texts if part.strip()))


def _label(names: list[str], wanted: str | None, problems: list[Problem]) -> tuple[str, list[str]]:
    if wanted is not None:
        found = find(names, wanted, "--label", problems)
        return found if found is not None else names[-1], []
    called = [name for expected in LABEL_NAMES for name in names if name.lower() == expected]
    chosen, reason = (called[0], "by its name") if called else (names[-1], "the last column")
    return chosen, [f"Column {chosen!r} is used as the label ({reason}); choose another one with --label."]


def find(names: list[str], wanted: str, option: str, problems: list[Problem]) -> str | None:
    """Return the column given by name or index; otherwise note the problem, and return the nearest name or None."""
    if wanted in names:
        return wanted
    if re.fullmatch(r"-?\d+", wanted):
        index = int(wanted)
        if -len(names) <= index < len(names):
            return names[index]
        problems.append(
            (f"{option} {wanted}: there are {len(names)} columns, 0 to {len(names) - 1} (-1: the last).", [])
        )
        return None
    near = close_names(names, wanted)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}?" if near else _all_of(names)
    fixes = [Fix(option=option, old=wanted, new=near[0])] if near else []
    problems.append((f"there is no column {wanted!r} ({option}): {hint}", fixes))
    return near[0] if near else None


def close_names(names: list[str], wanted: str) -> list[str]:
    """Return up to three names similar to one that does not exist."""
    lower = {name.lower(): name for name in names}
    return [lower[name] for name in get_close_matches(wanted.lower(), list(lower), n=3)]


def _all_of(names: list[str]) -> str:
    listed = ", ".join(repr(name) for name in names[:12]) + (", ..." if len(names) > 12 else "")
    return f"the columns are {listed}."


def absent_columns(names: list[str], needed: list[str]) -> str | None:
    """Return what is wrong if columns that a model needs are absent: all of them, with similar names."""
    absent = [name for name in needed if name not in names]
    if not absent:
        return None
    near = {name: close_names([other for other in names if other not in needed], name) for name in absent}
    if len(absent) == 1:
        [name] = absent
        hint = f"did you mean {near[name][0]!r}?" if near[name] else _all_of(names)
        return f"there is no column {name!r} (needed by the model): {hint}"
    some = [f"{name!r}" + (f" (is it {near[name][0]!r}?)" if near[name] else "") for name in absent[:20]]
    more = f" and {len(absent) - 20} more" if len(absent) > 20 else ""
    return f"{len(absent)} columns that the model needs are missing: {', '.join(some)}{more}; {_all_of(names)}"
