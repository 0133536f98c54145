"""Version and help."""

import drsvm

COMMANDS = ("fit", "predict", "export", "audit", "labels", "compare", "report")


def test_version_and_help(drsvm_command, error_of):
    assert drsvm_command("--version") == (0, f"drsvm {drsvm.__version__}\n", "")
    assert drsvm_command()[1].count("drsvm fit") >= 1
    for command in COMMANDS:
        code, out, _ = drsvm_command(command, "--help")
        assert code == 0 and f"drsvm {command} " in out and "Examples:" in out
    for command in ("fti", "path", "demo"):
        assert command in error_of(command)
