"""Output of the commands: notes, errors as JSON, markup, interrupts, corrected commands, and progress bars."""

import io
import json
import shlex

import numpy as np
import pytest
from cli_tables import rows, write_csv

from drsvm.cli.screen import corrected_command, in_options
from drsvm.utils import Message, Parameter


@pytest.mark.thorough
def test_names_in_brackets_are_not_markup(drsvm_command, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("drsvm.cli.screen.Screen.on_terminal", True)
    X, y = rows(40)
    folder = tmp_path / "[bold]"
    folder.mkdir()
    table = write_csv(
        folder / "[x].csv", X, np.array(["[red]", "[/b]"])[y], names=("[i]a", "b", "c")
    )
    code, out, err = drsvm_command("fit", table)
    assert (
        code == 0 and "[red] (20)" in out and "reading [x].csv" in err and "[i]a" in out
    )
    code, out, _ = drsvm_command("report", table, "--output", folder / "r.html")
    assert code == 0 and f"report written to {folder / 'r.html'}" in out


def test_bad_files_as_json(drsvm_command, tmp_path):
    code, out, err = drsvm_command("fit", tmp_path / "none.csv", "--json")
    assert code == 2 and "no such file" in err
    assert json.loads(out) == {
        "error": f"{tmp_path / 'none.csv'}: no such file.",
        "exit_code": 2,
    }
    assert drsvm_command("fit", tmp_path)[0] == 2


def test_an_interrupt_is_exit_code_130_and_leaves_nothing(
    drsvm_command, table, tmp_path, monkeypatch
):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("drsvm.estimators.linear.WassersteinSVC.fit", interrupted)
    code, out, err = drsvm_command("fit", table, "--model", tmp_path / "m.drsvm")
    assert (code, out) == (130, "") and "interrupted" in err
    assert not (tmp_path / "m.drsvm").exists()


def test_warnings_of_the_library_name_options(answer_of, table):
    notes = answer_of("fit", table, "--radius", 50, "--flip-cost", "inf")["notes"]
    note = next(note for note in notes if "classifier is constant" in note)
    assert all(
        option in note
        for option in ("--radius auto", "--class-weight balanced", "--cv")
    )
    assert "WassersteinSVCCV" not in note and "class_weight" not in note


@pytest.mark.parametrize(
    ("given", "fix", "expected"),
    [
        ("fit a.csv", Parameter("drop", "my id"), "fit a.csv --drop 'my id'"),
        ("fit a.csv --drop b", Parameter("drop", "b"), "fit a.csv --drop b"),
        ("fit a.csv --label lbel --cv", Parameter("label", "label", "lbel"), "fit a.csv --label label --cv"),
        ("fit a.csv --label=lable", Parameter("label", "label", "lable"), "fit a.csv --label label"),
        ("fit a.csv --drop b,cc,d", Parameter("drop", "c", "cc"), "fit a.csv --drop b,c,d"),
        ("fit a.csv --drop=b,cc", Parameter("drop", "c", "cc"), "fit a.csv --drop b,c"),
        ("fit a.csv --drop 'a,b'", Parameter("drop", "ab", "a,b"), "fit a.csv --drop ab"),
        ("fit a.csv --drop y --cv", Parameter("drop", "", "y"), "fit a.csv --cv"),
        ("fit a.csv", Parameter("missing", "fill", "error"), "fit a.csv --missing fill"),
    ],
)  # fmt: skip
def test_corrected_commands(given, fix, expected):
    arguments = shlex.split(given)
    assert corrected_command(arguments, [fix]) == f"drsvm {expected}"
    assert corrected_command(arguments, []) is None


def test_parameters_in_messages_are_options():
    message = Message(
        "{}, {} or {}",
        Parameter("max_time"),
        Parameter("drop", "my id"),
        Parameter("WassersteinSVCCV"),
    )
    expected = "--max-time, --drop 'my id' or --cv"
    assert (
        in_options(message)
        == in_options(UserWarning(message))
        == in_options(ValueError(message))
        == expected
    )
    assert in_options("as it is") == "as it is" and "No such" in in_options(
        OSError(2, "No such file")
    )


@pytest.fixture
def bar_of():
    from rich.console import Console

    from drsvm.cli.terminal import Bar

    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, color_system=None)

    def draw(bar):
        console.print(bar.get_renderable())
        return stream.getvalue().splitlines()[-1]

    return lambda text: Bar(console, text), draw


def test_every_stage_begins_at_zero(bar_of):
    make, draw = bar_of
    bar = make("fitting [b]")
    assert "fitting [b]" in draw(bar)
    assert "%" not in draw(bar), "nothing is known"
    report_progress = bar.begin("choosing the radius")
    assert " 0%" in draw(bar)
    report_progress(0.25)
    assert "fitting [b]: choosing the radius" in draw(bar)
    assert "25%" in draw(bar)
    report_progress(1.0)
    bar.begin("")
    assert "fitting [b] " in draw(bar)
    assert " 0%" in draw(bar)
