"""Numbers in messages."""

from drsvm.utils.messages import counted


def test_one_is_singular():
    assert counted(1, "row") == "1 row"
    assert counted(0, "row") == "0 rows"
    assert counted(2000, "false alarm") == "2,000 false alarms"
