"""Fixtures of the command-line tests: a function that runs it, and files."""

import json
from functools import cache

import pytest
from cli_tables import PETS, rows, write_csv
from plots import use_few_trees


@pytest.fixture(autouse=True)
def extras():
    for extra in ("typer", "rich", "pyarrow"):
        pytest.importorskip(extra)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """Spend little time on second opinions about labels."""
    use_few_trees(monkeypatch)


@pytest.fixture(autouse=True)
def no_trial_of_kernels(monkeypatch, request):
    """Take linear classifiers without a comparison with a kernel, except in the tests of that."""
    if not request.module.__name__.endswith(("test_kernel_choice", "test_truth")):
        monkeypatch.setattr("drsvm.cli.choose_kernel.MAX_ROWS", 0)


@pytest.fixture(scope="session")
def one_command():
    """Return the function of typer that reads the signatures of all commands, with a memory: they do not change."""
    import typer.main

    return cache(typer.main.get_command)


@pytest.fixture
def drsvm_command(capsys, monkeypatch, one_command):
    """Return a function that runs the command line and returns its exit code, output and messages."""
    from drsvm.cli import main

    monkeypatch.setattr("typer.main.get_command", one_command)

    def run(*arguments):
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out
        return ended.value.code or 0, printed.out, printed.err

    return run


@pytest.fixture
def answer_of(drsvm_command):
    """Return a function that runs a command with --json and returns its answer."""

    def run(*arguments, code=0):
        ended, out, err = drsvm_command(*arguments, "--json")
        assert ended == code, err
        return json.loads(out)

    return run


@pytest.fixture
def error_of(drsvm_command):
    """Return a function that runs a command which is refused, and returns the message."""

    def run(*arguments):
        code, _, err = drsvm_command(*arguments)
        assert code == 2
        return err

    return run


@pytest.fixture
def table(tmp_path):
    X, y = rows()
    return write_csv(tmp_path / "table.csv", X, PETS[y])


@pytest.fixture
def svmlight(tmp_path):
    from sklearn.datasets import dump_svmlight_file

    path = tmp_path / "data.svm"
    dump_svmlight_file(*rows(), str(path), zero_based=False)
    return path


@pytest.fixture
def model(drsvm_command, table, tmp_path):
    path = tmp_path / "model.drsvm"
    assert drsvm_command("fit", table, "--model", path)[0] == 0
    return path
