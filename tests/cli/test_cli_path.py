"""``drsvm path``."""

import csv
import io
import json

import pytest


def test_path(drsvm_command, table, tmp_path):
    pytest.importorskip("matplotlib")
    code, out, _ = drsvm_command(
        "path", table, "--n-radii", 5, "--test-size", 0.3, "--csv", tmp_path / "p.csv", "--plot", tmp_path / "p.png"
    )
    assert code == 0 and "test accuracy" in out
    read = list(csv.DictReader(io.StringIO((tmp_path / "p.csv").read_text())))
    assert len(read) == 5
    assert all(float(row["gap"]) <= 1e-6 and row["status"] == "optimal" for row in read)
    objectives = [float(row["objective"]) for row in read]
    assert objectives == sorted(objectives, reverse=True)
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    answer = json.loads(drsvm_command("path", table, "--radii", "0.2,0.1", "--json")[1])
    assert answer["path"]["radius"] == [0.2, 0.1] and answer["positive"] == "dog"


def test_the_path_is_seeded(drsvm_command, table, monkeypatch):
    import drsvm.solvers.path.radius_path

    seeds, followed = [], drsvm.solvers.path.radius_path.radius_path
    monkeypatch.setattr(
        "drsvm.learn.prices.radius_path",
        lambda *a, **k: seeds.append(k["random_state"]) or followed(*a, **k),
    )
    assert drsvm_command("path", table, "--n-radii", 2, "--seed", 7)[0] == 0
    assert seeds == [7]
    code, _, err = drsvm_command("path", "none.csv", "--solver", "magic")
    assert code == 2 and "--solver must be one of auto" in err


def test_the_best_radius_is_marked(drsvm_command, table):
    arguments = ("path", table, "--radii", "0.5,0.2,0.1", "--test-size", 0.3)
    answer = json.loads(drsvm_command(*arguments, "--json")[1])
    scores = answer["path"]["test_accuracy"]
    place = scores.index(max(scores))  # the radii decrease, so that the first of equal ones is the largest
    assert answer["best"] == {"row": place + 1, "radius": [0.5, 0.2, 0.1][place]}
    out = drsvm_command(*arguments)[1]
    marked = [line.split()[0] for line in out.splitlines() if line.rstrip().endswith(" best")]
    assert marked == [str(answer["best"]["radius"])]
    assert f"highest accuracy on the test rows: radius {answer['best']['radius']}" in out
    answer = json.loads(drsvm_command("path", table, "--radii", "0.5,0.2", "--json")[1])
    assert answer["best"] is None
