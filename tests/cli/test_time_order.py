"""Time: the last rows as a test, notes on dates and ordered rows, and kernels that do not extrapolate."""

import numpy as np
import pytest
from cli_tables import write_table

from drsvm.persistence import load_metadata


def days(path, n=240, order=None, **more):
    """Write rows of a day each, half of which are of one class; `order` are the rows in the file."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    date = np.datetime64("2023-01-01") + np.arange(n)
    columns = {
        "date": date,
        "height": rng.normal(size=n) + 2.0 * y,
        "width": rng.normal(size=n),
        **more,
        "kind": np.where(y, "dog", "cat"),
    }
    if order is not None:
        columns = {name: np.asarray(c)[order] for name, c in columns.items()}
    return write_table(path, columns)


@pytest.mark.parametrize(
    "command", ["fit", pytest.param("report", marks=pytest.mark.thorough)]
)
def test_the_last_rows_by_a_column(answer_of, tmp_path, command, omitted_plots):
    shuffled = np.random.default_rng(1).permutation(240)
    table = days(tmp_path / "t.csv", order=shuffled)
    output = ["--output", tmp_path / "r.md"]
    if command == "fit":
        output = ["--model", tmp_path / "m.drsvm"]
    answer = answer_of(command, table, "--label", "kind", "--test-by", "date", *output)
    said = "the last 60 of 240 rows are held out, in the order of date, from 2023-06-30"
    assert [note for note in answer["notes"] if note.startswith(said)]
    assert not [note for note in answer["notes"] if "dates: " in note]
    if command == "report":
        assert answer["summary"]["next"]["command"].count("--test-by date") == 1
        assert said in (tmp_path / "r.md").read_text()
        return
    assert answer["held_out"] == {"rows": 60, "trained_on": 180}
    assert load_metadata(tmp_path / "m.drsvm")["schema"]["columns"] == [
        "height",
        "width",
    ]


def test_the_last_rows_of_a_file_and_rows_of_one_value(answer_of, tmp_path):
    year = np.repeat([2022, 2023], [150, 90])
    table = days(tmp_path / "t.csv", year=year)
    given = [table, "--label", "kind", "--drop", "date"]
    for options, n_test in [
        (["--test-last", 0.1, "--drop", "year"], 24),
        (["--test-last", 50, "--drop", "year"], 50),
        (["--test-by", "year"], 90),
        # All rows of a year: more than wanted
        (["--test-by", "year", "--test-last", 0.7], 90),
    ]:
        answer = answer_of("fit", *given, *options)
        assert answer["test"]["rows"] == n_test
    # Those are the rows that a test file would have.
    lines = table.read_text().splitlines(keepends=True)
    table.write_text("".join(lines[:151]))
    (tmp_path / "test.csv").write_text("".join(lines[:1] + lines[151:]))
    as_file = answer_of(
        "fit", *given, "--drop", "year", "--test", tmp_path / "test.csv"
    )
    assert as_file["test"]["confusion"] == answer["test"]["confusion"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--test-by", "dates"], "--test-by"),
        (["--test-by", "date", "--test-size", 0.2], "use --test-size or --test-by"),
        (["--test-last", 0], "--test-last 0: hold out a share below 1"),
        (["--test-last", 240], "a number of rows below 240"),
        (["--test-last", 238], "before the last 238 rows, "),
        (["--test-by", "same"], "--test-by same: has one value only"),
        (["--test-by", "gaps"], "--test-by gaps: row 3 has no value"),
        (["--test-by", "season"], "its values have no order, such as 'spring'"),
    ],
)
def test_errors_name_the_option_and_the_remedy(error_of, tmp_path, options, message):
    gaps = np.arange(240).astype(str)
    gaps[2] = ""
    season = np.repeat(["spring", "summer"], 120)
    table = days(tmp_path / "t.csv", same=np.ones(240), gaps=gaps, season=season)
    assert message in error_of("fit", table, "--label", "kind", *options)


def test_a_date_is_named_and_a_number_is_not(answer_of, tmp_path):
    rng = np.random.default_rng(2)
    born = np.datetime64("1960-01-01") + rng.integers(0, 9000, 240)
    numbers = {"day": rng.integers(20_230_101, 20_231_231, 240), "born": born}
    table = days(tmp_path / "t.csv", order=rng.permutation(240), **numbers)
    given = [table, "--label", "kind"]
    [note] = [note for note in answer_of("fit", *given)["notes"] if "later" in note]
    assert note == (
        "dates: date, born; if rows to come have later ones, leave them out, and test "
        "on the last rows: --drop date,born --test-by date."
    )
    [note] = [
        note
        for note in answer_of("fit", *given, "--drop", "born", "--test-last", 0.3)[
            "notes"
        ]
        if "later" in note
    ]
    assert note.endswith("later ones, leave them out: --drop date.")
    notes = answer_of("fit", *given, "--drop", "date,born")["notes"]
    assert not [note for note in notes if "date" in note or "order" in note]


def test_rows_in_an_order_are_named(answer_of, tmp_path):
    height = np.random.default_rng(3).normal(size=600) + np.arange(600) / 200
    table = days(tmp_path / "t.csv", 600, trend=np.arange(600) / 7, height=height)
    given = [table, "--label", "kind", "--drop", "date"]
    [note] = [n for n in answer_of("fit", *given)["notes"] if "in an order" in n]
    assert note == (
        "the rows are in an order: height, trend differ between 8 blocks of them by "
        "more than chance explains. If that is time, test on the last rows: "
        "--test-last 0.25. What grows from row to row is best left out: trend (--drop)."
    )
    notes = answer_of("fit", *given, "--test-last", 0.2)["notes"]
    assert not [note for note in notes if "in an order" in note]


@pytest.mark.parametrize(
    "lasting", [False, pytest.param(True, marks=pytest.mark.thorough)]
)
def test_the_kernel_is_chosen_by_forward_folds(
    answer_of, tmp_path, with_kernels, lasting
):
    rng = np.random.default_rng(0)
    n = 240
    X = rng.normal(size=(n, 2))
    curve = (X**2).sum(axis=1) - 1.4
    if not lasting:
        # The curve of earlier rows is not that of later ones.
        curve = np.where(np.arange(n) < 150, curve, -curve)
    y = curve + X.sum(axis=1) > 0
    table = write_table(
        tmp_path / "t.csv",
        {"a": X[:, 0], "b": X[:, 1], "label": y.astype(int)},
    )
    choice = answer_of("fit", table, "--test-last", 40)["choice"]
    assert choice["kernel"] == ("rbf" if lasting else "linear")
    assert choice["judged_on"] == "later rows" and choice["judged_rows"] == 150
    assert "later rows" in choice["words"]


def test_a_kernel_does_not_extrapolate_in_silence(answer_of, tmp_path, with_kernels):
    rng = np.random.default_rng(0)
    n = 160
    price = 0.1 * np.arange(n) + rng.normal(size=n)
    X = rng.normal(size=(n, 2))
    columns = {"price": price, "a": X[:, 0], "b": X[:, 1]}
    columns["label"] = ((X**2).sum(axis=1) > 1.4).astype(int)
    table = write_table(tmp_path / "t.csv", columns)
    given = ["fit", table, "--test-last", 0.3]
    words = answer_of(*given)["choice"]["words"]
    assert words == (
        "linear: test rows are outside of the range of the training rows in price, and "
        "a kernel does not extrapolate: one is tried without such columns (--drop)"
    )
    rbf = ["--kernel", "rbf", "--gamma", 0.5, "--radius", 0.1, "--l2", 0.01]
    notes = answer_of(*given, *rbf)["notes"]
    assert [note for note in notes if note.startswith("a kernel does not extrapolate")]
    # Without these test rows, later training rows show it.
    words = answer_of("fit", table)["choice"]["words"]
    assert words.startswith("linear: later rows are outside of the range of earlier")


@pytest.fixture
def with_kernels(monkeypatch):
    monkeypatch.setattr("drsvm.cli.choose_kernel.MAX_ROWS", 20_000)


@pytest.fixture
def omitted_plots(monkeypatch):
    from plots import omit_plots

    pytest.importorskip("matplotlib")
    omit_plots(monkeypatch)
