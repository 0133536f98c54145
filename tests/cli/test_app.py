"""Version and help."""

import drsvm

COMMANDS = ("fit", "predict", "path", "audit", "labels", "compare", "report", "demo")


def test_version_and_help(drsvm_command):
    assert drsvm_command("--version") == (0, f"drsvm {drsvm.__version__}\n", "")
    assert drsvm_command()[1].count("drsvm fit") >= 1
    for command in COMMANDS:
        code, out, _ = drsvm_command(command, "--help")
        assert code == 0 and f"drsvm {command} " in out and "Examples:" in out
    code, _, err = drsvm_command("fti")
    assert code == 2 and "fti" in err
