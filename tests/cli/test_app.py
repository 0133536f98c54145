"""Version and help.

The command line in separate processes: imports, compilation and closed pipes.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from thorough import LONG

import drsvm
from drsvm.compiled.compiling import NOTICE

COMMANDS = ("fit", "predict", "export", "audit", "drift", "labels", "report")


def test_version_and_help(drsvm_command, error_of):
    assert drsvm_command("--version") == (0, f"drsvm {drsvm.__version__}\n", "")
    assert drsvm_command()[1].count("drsvm fit") >= 1
    for command in COMMANDS:
        code, out, _ = drsvm_command(command, "--help")
        assert code == 0 and f"drsvm {command} " in out and "Examples:" in out
    for command in ("fti", "path", "demo"):
        assert command in error_of(command)


def environment(package=Path(drsvm.__file__).parent.parent, **more):
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA", "PYTHONPYCACHE"))
    }
    return {**kept, "PYTHONPATH": str(package), **more}


def fresh_process(code, *arguments, cwd, env):
    return subprocess.run(
        [sys.executable, *code, *map(str, arguments)],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.mark.skipif(
    not LONG, reason="compiles all kernels of a fit; make test-long runs it"
)
def test_a_second_fit_compiles_nothing_and_a_read_only_package_works(table, tmp_path):
    package = Path(drsvm.__file__).parent
    copy = tmp_path / "site" / "drsvm"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (copy, *filter(Path.is_dir, copy.rglob("*"))):
        # Stops the superuser too
        (folder / "__pycache__").write_text("a file where numba expects a folder")
    home = tmp_path / "home"
    home.mkdir()
    env = environment(
        copy.parent,
        HOME=str(home),
        XDG_CACHE_HOME=str(home / "cache"),
        PYTHONDONTWRITEBYTECODE="1",
    )
    found = []
    for notice in (NOTICE + "\n", ""):  # only the first run compiles, and says so
        run = fresh_process(
            ["-W", "error", "-m", "drsvm"],
            "fit",
            table,
            "--model",
            "m.drsvm",
            "--json",
            cwd=tmp_path,
            env=env,
        )
        assert run.returncode == 0, run.stderr
        assert json.loads(run.stdout)["proven"] and run.stderr == notice
        found.append({path: path.stat().st_mtime_ns for path in home.rglob("*.nb?")})
    assert found[0] and found[0] == found[1]


def test_the_command_line_names_its_extra():
    hide = "import sys; sys.modules['typer'] = None; from drsvm.cli import main; main(['--version'])"
    run = fresh_process(["-c", hide], cwd=".", env=environment())
    assert run.returncode == 2 and run.stderr.strip().endswith(
        "pip install typer rich pyarrow."
    )


def test_help_imports_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "pyarrow", "pandas"]
    found = f"[name for name in {heavy!r} if name in sys.modules]"
    look = (
        f"import json, sys\nfrom drsvm.cli.app import app\nprint(json.dumps({found}))"
    )
    run = fresh_process(["-c", look], cwd=".", env=environment())
    assert json.loads(run.stdout) == []


@pytest.mark.parametrize("command", ["drift", "audit", "report", "fit"])
def test_a_missing_file_is_an_error_before_classifiers_are_imported(command):
    files = ["none.drsvm", "none.csv"]
    if command in ("report", "fit"):
        files = files[1:]
    look = (
        "import sys\nfrom drsvm.cli import main\n"
        f"try:\n    main({[command, *files]!r})\n"
        "except SystemExit:\n    print('sklearn' in sys.modules)"
    )
    run = fresh_process(["-c", look], cwd=".", env=environment())
    assert "no such file" in run.stderr and run.stdout.strip() == "False"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell")
def test_a_closed_pipe_is_not_an_error(model, table):
    command = f"{sys.executable} -m drsvm predict {model} {table} 2>/dev/null | head -1; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", command],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.stdout == "row,prediction,decision,label\n" and run.returncode == 0
