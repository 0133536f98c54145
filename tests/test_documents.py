"""README, documentation and docstrings: every block runs, and prints what is shown
beside it.
"""

import doctest
import importlib
import importlib.util
import inspect
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import documents
import pytest
from documents import (
    FRAGILE,
    assert_same_output,
    blocks_of,
    console_commands,
    with_outputs,
)
from prose import figures_of, places_of, unbacked
from prose_sources import BACKING
from thorough import unless_long

import drsvm

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.rst"))]
# Pages that state what was measured: each of their figures has a source.
MEASURED = ("README.md", "benchmarks.rst", "when_it_helps.rst", "which_tool.rst")
RUN = ("python", "console", "sh", "bash")
# Packages that pages show beside this one
OTHERS = ("cleanlab", "mapie", "mlflow", "shap", "skrub")
SLOW = (
    "cluster_and_gpu",
    "coming_from_cleanlab",
    "command_line",
    "labels",
    "large_data",
    "tutorial_audit",
    "tutorial_new_data",
    "tutorial_table",
)
# In the API reference
PUBLIC = re.findall(r"^   ([a-z_.]*\w+)$", (DOCS / "api.rst").read_text(), re.MULTILINE)
SHOWN = [
    page for page in PAGES if any(block.language in RUN for block in blocks_of(page))
]
FAST = [page for page in SHOWN if page.stem not in SLOW]
SOURCES = [
    path
    for path in sorted(Path(drsvm.__file__).parent.rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]
EXAMPLES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCES
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in an empty folder that has the scripts which a reader can download."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    for script in (DOCS / "data").glob("*.py"):
        shutil.copy(script, tmp_path)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    importlib.import_module("matplotlib.pyplot").close("all")


def run_script(name):
    """Run a script in a process of its own and return what it prints."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    run = subprocess.run(
        [sys.executable, name],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def run_python(text, namespace, name):
    """Run a block and return what it prints.

    One that starts processes of its own runs as a script.
    """
    if "__name__" in text:
        Path("block.py").write_text(text)
        return run_script("block.py")
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(text, name, "exec"), namespace)
    return printed.getvalue()


def assert_options_exist(command):
    """Check the options of ``drsvm …``, wherever it is in a line."""
    from typer.main import get_command

    from drsvm.cli.app import app

    words = shlex.split(command.partition("drsvm ")[2].partition(" > ")[0])
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    parameters = get_command(app).commands[words[0]].params
    assert given <= {
        "--help",
        *(name for one in parameters for name in (*one.opts, *one.secondary_opts)),
    }, command


def run_command(command):
    """Run a command of a console block whose files exist, and return what it prints.

    None if it was not run.
    """
    words = shlex.split(command)
    if words[0] == "python" and Path(words[1]).exists():
        return run_script(words[1])
    if "drsvm " in command:
        assert_options_exist(command)
    if words[0] != "drsvm" or "|" in words or not Path(words[2]).exists():
        return None
    from drsvm.cli import main

    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed), pytest.raises(SystemExit):
        main(words[1:])
    assert "Traceback" not in printed.getvalue()
    here = printed.getvalue().replace(f"{Path.cwd()}{os.sep}", "")
    # Kernels are compiled in the first run after an installation only.
    return re.sub(r"^Compiling drsvm's kernels.*\n", "", here, flags=re.MULTILINE)


def run_block(block, shown, namespace, name):
    """Run one block of a page, and compare."""
    if block.language == "python":
        printed = run_python(block.text, namespace, f"{name}:{block.line}")
        if shown is not None:
            assert_same_output(printed, shown)
    elif block.language == "console":
        for command, output in console_commands(block.text):
            printed = run_command(command)
            if printed is not None and output is not None:
                assert_same_output(printed, output)
    elif block.language in ("sh", "bash"):
        for line in block.text.splitlines():
            if line.startswith("drsvm "):
                assert_options_exist(line)


def imported(text, names):
    """Return which of some packages a block imports."""
    found = re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)
    return {*found} & {*names}


def pages_with_others():
    """Yield each page with each of the other packages that it shows."""
    for page in SHOWN:
        blocks = [block.text for block in blocks_of(page) if block.language == "python"]
        for name in sorted(imported("\n".join(blocks), OTHERS)):
            yield pytest.param(page, name, id=f"{page.name}, {name}")


@pytest.mark.parametrize(("page", "name"), pages_with_others())
def test_blocks_with_other_packages_run_where_these_are_installed(page, name, folder):
    pytest.importorskip(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the other package
        namespace = {"__name__": "page"}
        for block, shown in with_outputs(list(blocks_of(page))):
            if imported(block.text, OTHERS) <= {name}:
                run_block(block, shown, namespace, page.name)


@pytest.mark.parametrize("page", unless_long(FAST, SHOWN), ids=lambda page: page.name)
def test_every_block_runs_and_prints_what_is_shown(page, folder):
    if page.stem == "tutorial_new_data" and "DRSVM_DATA" not in os.environ:
        pytest.skip("DRSVM_DATA is not set: its table would have to be fetched")
    namespace = {"__name__": "page"}
    for block, shown in with_outputs(list(blocks_of(page))):
        if imported(block.text, OTHERS):
            continue
        needed = imported(block.text, ("cupy", "torch"))
        if any(importlib.util.find_spec(name) is None for name in needed):
            return  # the rest of the page needs a graphics card
        run_block(block, shown, namespace, page.name)


def test_every_figure_in_prose_is_backed():
    """By a block of the page, by a result that it names, or by what `prose_sources`
    lists.
    """
    for page in PAGES:
        if page.name not in MEASURED:
            continue
        entries = BACKING.get(page.name, [])
        assert unbacked(page, entries) == []
        for entry in entries:
            assert list(places_of(page, *entry)), entry


def test_figures_that_nothing_backs_are_found(tmp_path):
    page = tmp_path / "page.rst"
    block = (
        "\n.. code-block:: text\n\n   accuracy 0.9254, 313 of 2,000 rows, gap 4.8e-10\n"
    )
    results = "``benchmarks/results/gross_errors.md``: 86.5 / 79.6 / 87.9."
    page.write_text(
        "It is 92.5 % (0.93) of 2,000 rows, 313 of 2,000, to 4.8e-10."
        f" {results}\n{block}"
    )
    assert len(list(figures_of(page))) == 6 and unbacked(page, []) == []
    results = results.replace("79.6", "79.7")
    page.write_text(
        "It is 92.6 % (0.92) of 2,001 rows, 313 of 2,001, to 4.8e-9."
        f" {results}\n{block}"
    )
    wrong = ["92.6", "0.92", "2,001", "313 of 2,001", "4.8e-9", "86.5 / 79.7 / 87.9"]
    assert unbacked(page, []) == [f"page.rst:1: {figure}" for figure in wrong]
    assert unbacked(
        page, [("It is 92.6 % (0.92) of 2,001 rows, 313 of 2,001", "an example")]
    ) == [f"page.rst:1: {figure}" for figure in wrong[4:]]
    assert (
        unbacked(
            page, [("to 4.8e-9", "gross_errors.md", "| ClippedScaler, LinearSVC()")]
        )[4]
        == "page.rst:1: 4.8e-9"
    )
    with pytest.raises(AssertionError, match="does not have the words"):
        unbacked(page, [("It is 92.7 %", "an example")])


PROOF = (
    "worst-case risk 0.48341223, at most 3.8e-10 above the optimum (tolerance 1e-06);"
    " admm, 10 iterations, 0.02 s"
)


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("accuracy 0.912", "accuracy 0.913"),
        ("247 rows", "245 rows"),
        (PROOF, PROOF.replace("0.4834", "0.4835")),
        (PROOF, PROOF.replace("1e-06", "1e-05")),
        ("[0.088 0.181]", "[0.088 0.181 0.234]"),
    ],
)
def test_every_digit_of_an_output_counts(printed, shown, monkeypatch):
    monkeypatch.setattr(documents, "PRINTED_WITH", {"numpy": "1.0"})
    assert_same_output(printed, printed)
    with pytest.raises(AssertionError):
        assert_same_output(printed, shown)


def test_fragile_digits_do_not_count_and_others_need_the_versions_that_printed_them(
    monkeypatch,
):
    here = (
        PROOF.replace("3.8e-10", "4.1e-11")
        .replace("10 iter", "11 iter")
        .replace("0.02 s", "1.3 s")
    )
    assert_same_output(PROOF.replace("0.48341223", "0.48341231"), here)
    assert all(reason for _, reason in FRAGILE.values())
    monkeypatch.setattr(documents, "PRINTED_WITH", {"numpy": "999.0"})
    assert_same_output("accuracy 0.912", "accuracy 0.914")
    with pytest.raises(AssertionError, match=r"printed 0\.912, shown 0\.94"):
        assert_same_output("accuracy 0.912", "accuracy 0.940")


def test_commands_within_sentences_have_options_that_exist():
    pytest.importorskip("typer")
    commands = [
        found
        for page in PAGES
        for found in re.findall(r"``(drsvm [a-z]+ [^`]*)``", page.read_text())
    ]
    assert len(commands) > 3
    for command in commands:
        assert_options_exist(command)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_print_what_is_shown(name, folder):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=flags)
    assert tried > 0 and failed == 0


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    module, _, attribute = f"drsvm.{name}".rpartition(".")
    assert ">>> " in inspect.getdoc(getattr(importlib.import_module(module), attribute))


def test_the_link_checker_finds_what_is_broken(tmp_path, capsys, monkeypatch):
    (tmp_path / "index.html").write_text(
        '<a href="other.html#here">good</a><a href="other.html#gone">bad</a><a'
        ' href="gone.html">bad</a><a href="https://example.org">elsewhere</a><script'
        ' src="https://example.org/a.js"></script>'
    )
    (tmp_path / "other.html").write_text('<p id="here"><img src="gone.png"></p>')
    monkeypatch.setattr(sys, "argv", ["check_links.py", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(DOCS / "check_links.py"), run_name="__main__")
    assert ended.value.code == 1
    assert capsys.readouterr().out.splitlines() == [
        "index.html: loads https://example.org/a.js from the network",
        "index.html: no target for other.html#gone",
        "index.html: no target for gone.html",
        "other.html: no target for gone.png",
    ]
