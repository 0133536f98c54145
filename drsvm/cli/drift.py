"""``drsvm drift``: how far new rows have moved from those that a saved model was tested on, or from batch to batch."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from drsvm.datasets import Dataset, Schema
    from drsvm.learn.batches import BatchShifts
    from drsvm.model.new_data.seen import SeenRows
    from drsvm.model.new_data.shift import Shift
    from drsvm.persistence.model_files import SavedModel

EXAMPLES = """drsvm drift churn.drsvm march.csv
drsvm drift churn.drsvm march.csv --fail-above chance || mail -s "churn has moved" me@example.org
drsvm drift churn.drsvm this_year.csv --by month --plot months.png
drsvm drift last_year.csv --label churned --by month"""

MOVED = 4  # the exit code for rows that have moved too far
MOST_BATCHES = 1000
OF_LABELS = ("error_now", "shares_now", "moved_within_classes", "relation", "relation_by_chance")
EMPTY = "(empty)"  # the end of the name of a column whose empty cells are counted
UNITS = {"date": "days", "time of day": "hours"}  # of columns by their style
TESTED = "The classifier is the one that was tested; that of the file was trained on the rows of the test, too."


class Rule(NamedTuple):
    """How movement is measured, and from where on it is too much."""

    confidence: float
    seed: int
    limit: float

    def shift(self, before: "SeenRows", after: "SeenRows", labelled: "np.ndarray") -> "Shift":
        """Return the movement of all rows; what needs labels is that of the rows that have one."""
        from drsvm.model.new_data.shift import shift_between

        if labelled.all():
            return shift_between(before, after, self.confidence, self.seed)
        shift = shift_between(before, replace(after, codes=None), self.confidence, self.seed)
        if not labelled.any():
            return shift
        some = shift_between(before, after.some(labelled, []), self.confidence, self.seed)
        return replace(shift, **{name: getattr(some, name) for name in OF_LABELS})

    def is_broken(self, shift: "Shift") -> bool:
        return shift.more_than_chance and shift.moved > self.limit


def drift(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A model saved by 'drsvm fit --model', or data with --by.")
    ],
    data: opt.DataOptions,
    outputs: opt.TableOptions,
    screen: Screen,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="New rows, as for predict.")] = None,
    by: str | None = opt.testing(
        "A column of batches, such as months: a line for each, against the test of the model or, without a model, "
        "against the batch before. It is not a feature.",
        metavar="COLUMN",
    ),
    fail_above: str | None = opt.testing(
        "Exit with the code 4 if rows, or those of any batch, have moved by more than chance explains: chance; or by "
        "more than that and this distance: 0.2.",
        metavar="chance|NUMBER",
    ),
    confidence: float = opt.testing("Confidence of the bound, and for what chance explains.", 0.95),
    seed: int = opt.testing("Random seed.", 0),
) -> int:
    """Measure how far new rows have moved from those that a model was tested on, as its classifier sees them.

    The old rows are not needed: drsvm fit keeps what the classifier sees of its test rows in the model file. Labels need
    not be known; the error rate to expect is that of rows that moved as little as possible and kept their labels.
    """
    from drsvm.model.worst_case.confidence import check_confidence
    from drsvm.persistence.model_files import is_model_file

    outputs.check(model, file)
    check_confidence(confidence)
    rule = Rule(confidence, seed, _limit(fail_above))
    payload: Payload = {"command": "drift", "model": None if file is None else model, "file": file or model, "by": by}
    if file is not None:
        names, shifts, schema = _since_test(model, file, by, data, rule, screen)
    elif by is not None and not (model.is_file() and is_model_file(model)):
        names, shifts, schema = _from_batch_to_batch(model, by, data, rule, screen)
    else:
        raise ValueError(f"{model}: name a model and a file of new rows, or a data file and its batches with --by.")
    code = MOVED if fail_above is not None and any(map(rule.is_broken, shifts)) else 0
    payload |= {"fail_above": fail_above, "exit_code": code}
    about = [] if file is None else [TESTED]
    if by is None:
        [shift] = shifts
        payload |= {**shift.to_dict(), **outputs.save(_columns(shift), lambda: _drawn(shift))}
        units = {name: UNITS.get(schema.style(name).partition(" %")[0]) for name in schema.columns}
        shown = _renamed(shift, {name: f"{name} ({unit})" for name, unit in units.items() if unit})
        screen.finish(payload, str(shown), *about)
        return code
    from drsvm.learn.batches import BatchShifts

    batches = BatchShifts(names, shifts)
    table = {by: names, **{name: values for name, values in batches.to_dict().items() if None not in values}}
    table["moved_most"] = [next((each.name for each in shift.columns), "") for shift in shifts]
    del table["batch"]
    payload["batches"] = [{"batch": name, **shift.to_dict()} for name, shift in zip(names, shifts, strict=True)]
    payload |= {"radius": batches.radius, "coverage": batches.coverage}
    payload |= outputs.save(table, lambda: _drawn(batches))
    screen.finish(payload, table, _summary(batches), shifts[0].remark(), *about)
    return code


def _limit(fail_above: str | None) -> float:
    try:
        return 0.0 if fail_above in (None, "chance") else float(fail_above)
    except ValueError:
        raise ValueError(f"--fail-above must be chance or a number, got {fail_above!r}.") from None


def _since_test(model: Path, file: Path, by: str | None, data: opt.DataOptions, rule: Rule, screen: Screen):
    """Return batches of a file, or all of it, with their movement since the test of a model."""
    import numpy as np

    from drsvm.cli import work
    from drsvm.persistence.audits import cells_of

    for name, value in vars(data).items():
        if name not in opt.FileOptions.__dataclass_fields__ and value != getattr(opt.DataOptions(), name):
            raise ValueError(f"{opt.option_of(name)} is for data files without a model, which reads them as in training.")
    saved, dataset = work.load_for_model(model, file, data, screen, by=by, unlabelled=True)
    audit = saved.audit
    if audit is None:
        remedy = "save it with drsvm fit --model, with rows held out for a test (--test-size, or --test FILE)"
        raise ValueError(f"{model}: has no rows of a test to compare new ones with: {remedy}.")
    y, labelled = _labels(saved, dataset, screen)
    batches = {file.name: np.arange(dataset.shape[0])} if by is None else batches_of(dataset, by)
    with screen.whole("comparing") as tell:
        seen, cells = audit.seen(dataset.X, y), cells_of(audit.model, dataset.X)
        before = replace(audit.rows, classes=np.array(dataset.schema.truth_labels or saved.model.classes_))
        shifts = []
        for rows in batches.values():
            after = seen.some(rows, audit.summaries(cells[rows]))
            shifts.append(rule.shift(before, after, labelled[rows]))
            tell(len(shifts) / len(batches))
    return list(batches), shifts, dataset.schema


def _labels(saved: "SavedModel", data: "Dataset", screen: Screen) -> "tuple[np.ndarray | None, np.ndarray]":
    """Return labels, any of them where a row has none, and which rows have one."""
    import numpy as np

    from drsvm.cli.work import unknown_label

    n, classes = data.shape[0], saved.model.classes_
    unknown = None if data.y is None else unknown_label(data.y, classes)
    if unknown is not None:
        screen.note(f"labels are not compared: the file has the label {unknown!r}, which the model was not trained on.")
    if data.y is None or unknown is not None:
        return None, np.zeros(n, dtype=bool)
    labelled = np.ones(n, dtype=bool) if data.labelled is None else data.labelled
    if lost := n - int(labelled.sum()):
        screen.note(f"{lost:,} of {n:,} rows have no label: what needs labels goes without them.")
    y = np.resize(classes, n)
    y[labelled] = data.y.astype(classes.dtype)
    return y, labelled


def _from_batch_to_batch(file: Path, by: str, data: opt.DataOptions, rule: Rule, screen: Screen):
    """Return the batches of a file after the first one, with their movement since the one before."""
    import numpy as np
    from sklearn.pipeline import Pipeline

    from drsvm import WassersteinSVC, radius_from_batches
    from drsvm.cli import work
    from drsvm.datasets.preparation import preparation

    parts = work.load_parts(file, data.read_options(by=by), screen)
    reader, *further = preparation(parts.data.schema)
    rows = np.concatenate(list(batches_of(parts.data, by).values()))  # in the order of the batches
    names = np.array(next(iter(parts.data.kept.values())))[rows]
    model = Pipeline([*further, ("classifier", WassersteinSVC())])
    cells, settings = reader[1].transform(parts.X)[rows], {"confidence": rule.confidence, "random_state": rule.seed}
    with screen.progress("comparing"), screen.warnings_as_notes():
        found = radius_from_batches(model, cells, parts.y[rows], names, **settings)
    numbered = {str(place): name for place, name in enumerate(parts.data.schema.columns)}
    return found.names, [_renamed(shift, numbered) for shift in found.shifts], parts.data.schema


def batches_of(data: "Dataset", by: str) -> "dict[str, np.ndarray]":
    """Return the rows of every batch: numbers and dates are sorted, others come in the order of their first row."""
    import numpy as np

    from drsvm.datasets.values import DATE_STYLES, Style, parser_of

    texts = [text or EMPTY for text in next(iter(data.kept.values()))]
    names = [name for name in dict.fromkeys(texts) if name != EMPTY]
    if len(names) > MOST_BATCHES:
        what = f"--by {by}: has {len(names):,} different values in {len(texts):,} rows"
        raise ValueError(f"{what}: choose a column with at most {MOST_BATCHES:,}, such as months.")
    for style, end in ((Style.PLAIN, ""), (Style.ISO_DATE, "-01"), *((style, "") for style in DATE_STYLES)):
        keys = {name: parser_of(style)(name + end) for name in names}
        if None not in keys.values():
            names = sorted(names, key=lambda name: keys[name])
            break
    names += [EMPTY] if EMPTY in texts else []
    cells = np.array(texts)
    return {name: np.flatnonzero(cells == name) for name in names}


def _renamed(shift: "Shift", names: dict[str, str]) -> "Shift":
    """Return a movement with other names of columns, also of those that count empty cells."""
    words = (each.name.removesuffix(f" {EMPTY}") for each in shift.columns)
    known = ((each, word, names.get(word, word)) for each, word in zip(shift.columns, words, strict=True))
    return replace(shift, columns=[each._replace(name=new + each.name[len(old) :]) for each, old, new in known])


def _columns(shift: "Shift") -> opt.Columns:
    return {name: [getattr(each, name) for each in shift.columns] for name in ("name", "distance", "by_chance", "size")}


def _summary(batches: "BatchShifts") -> str:
    n, moved = len(batches.shifts), sum(shift.more_than_chance for shift in batches.shifts)
    chance = 1.0 - batches.shifts[0].confidence
    return (
        f"{moved} of {n} batches have moved by more than chance explains, which alone gives {chance:.0%} of them. The "
        f"radius {batches.radius:.4g} covers all; the next batch moves no further with a probability of "
        f"{batches.coverage:.0%}, if no order of batches is more likely than another."
    )


def _drawn(what: "Shift | BatchShifts") -> "Figure":
    from drsvm.learn.batches import BatchShifts
    from drsvm.plotting import BatchShiftsDisplay, ShiftDisplay

    if isinstance(what, BatchShifts):
        return BatchShiftsDisplay.from_shifts(what).figure_
    return ShiftDisplay.from_shift(what).figure_
