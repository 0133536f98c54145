"""``drsvm demo``."""

import json


def test_demo(drsvm_command, tmp_path, monkeypatch):
    called = []
    monkeypatch.setattr("drsvm.demo.main", lambda: called.append(print("demonstration")))
    assert drsvm_command("demo")[1] == "demonstration\n"
    assert json.loads(drsvm_command("demo", "--json")[1])["text"] == "demonstration\n"
