"""What model files of ``drsvm fit`` contain of the training data: no rows, unless these are asked for."""

import io
from itertools import product
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from cli_tables import write_table
from sklearn.neighbors import NearestNeighbors

from drsvm.persistence import load_audit, load_metadata, load_model

CASES = list(product(("linear", "rbf"), (2, 3)))


def random_table(seed, n_classes):
    """Return a table with numbers on a grid and off it, texts, and copies; some texts occur once."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 140))
    y = rng.permutation(n) % n_classes
    columns = {
        "a": rng.normal(size=n).round(4) + y,
        "b": rng.integers(0, 6, size=n) - (y == 1),
        "c": np.exp(rng.normal(size=n)).round(2),
    }
    for name in ("town", "job")[: rng.integers(0, 3)]:
        texts = rng.choice(["x1", "x2", "x3"], size=n).astype(object)
        texts[:2] = [f"{name}OfOne", f"{name}OfAnother"]
        columns[name] = texts
    table = pd.DataFrame({**columns, "label": np.array(["p", "q", "r"])[y]})
    return pd.concat([table, table[5:10], table[5:10]], ignore_index=True)


def contents_of(path):
    """Return all bytes of the members of a model file, and its arrays of numbers."""
    archive = path.read_bytes().partition(b"\n")[2]
    texts, arrays = [], []
    with ZipFile(io.BytesIO(archive)) as opened:
        for name in opened.namelist():
            texts.append(opened.read(name))
            if name.endswith(".npy"):
                arrays.append(np.load(io.BytesIO(texts[-1])))
    return b"".join(texts), [array for array in arrays if array.dtype.kind == "f"]


def rows_in(path, table):
    """Return the number of rows that are found in a file, byte by byte or by value."""
    X = table.drop(columns="label")
    content, arrays = contents_of(path)
    audit = load_audit(path)
    found = 0
    for model in (load_model(path), audit.model):
        features = model[:-1].transform(X)
        scaler = model[1].named_transformers_["numbers"][-1].scaler_
        numbers = X[["a", "b", "c"]].to_numpy(dtype=float)
        for array in arrays:
            for rows in (array, array.T):
                if rows.ndim != 2 or rows.shape[1] != features.shape[1]:
                    continue
                found += matches(features, rows)
                found += matches(numbers, rows[:, :3] * scaler.scale_ + scaler.mean_)
        for matrix in (features, numbers):
            for row in matrix:
                found += row.tobytes() in content
                found += row.astype(np.float32).tobytes() in content
    for row in table.astype(str).itertuples(index=False):
        found += ",".join(row).encode() in content
    return found


def matches(rows, others):
    """Return how many of the others are rows, to nine digits."""
    distances, _ = NearestNeighbors(n_neighbors=1).fit(rows).kneighbors(others)
    return np.count_nonzero(distances < 1e-9 * np.abs(rows).max())


def check(drsvm_command, folder, seed, kernel, n_classes):
    table = random_table(seed, n_classes)
    file = write_table(folder / "t.csv", dict(table.items()))
    model = folder / "t.drsvm"
    code, _, err = drsvm_command("fit", file, "--kernel", kernel, "--model", model)
    assert code == 0, err
    assert rows_in(model, table) == 0
    assert b"OfOne" not in contents_of(model)[0]
    assert model.stat().st_size < 300_000


@pytest.mark.parametrize(("kernel", "n_classes"), [CASES[0], CASES[3]])
def test_a_model_file_contains_no_row(drsvm_command, tmp_path, kernel, n_classes):
    check(drsvm_command, tmp_path, 2, kernel, n_classes)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(50))
def test_fifty_model_files_contain_no_row(drsvm_command, tmp_path, seed):
    check(drsvm_command, tmp_path, seed, *CASES[seed % len(CASES)])


def test_rows_are_kept_if_they_are_asked_for(drsvm_command, answer_of, tmp_path):
    table = random_table(2, 2)
    file = write_table(tmp_path / "t.csv", dict(table.items()))
    model = tmp_path / "t.drsvm"
    given = "fit", file, "--kernel", "rbf", "--landmarks", "rows", "--model", model
    code, out, _ = drsvm_command(*given)
    about = "rows of the training data, which a model file contains"
    assert code == 0 and f"landmarks: {about}" in out
    assert rows_in(model, table) > 50
    assert load_metadata(model)["training"]["landmarks"] == about


def test_the_tested_classifier_has_the_same_landmarks(drsvm_command, tmp_path):
    table = random_table(2, 2)
    file = write_table(tmp_path / "t.csv", dict(table.items()))
    model = tmp_path / "t.drsvm"
    drsvm_command("fit", file, "--kernel", "rbf", "--model", model)
    saved, tested = load_model(model)[-1], load_audit(model).model[-1]
    assert saved.landmarks == tested.landmarks == "means"
    assert len(saved.landmarks_) == len(tested.landmarks_) > 60
    # Apart from levels that are rare in one of the two
    np.testing.assert_array_equal(saved.landmarks_[:, :3], tested.landmarks_[:, :3])
    assert len(saved.result_.hinge_dual) == 0


def test_few_different_rows_are_told(error_of, tmp_path):
    columns = {"a": np.arange(60) % 2, "b": np.arange(60) // 30}
    labels = np.array(["no", "yes"])[np.arange(60) % 2]
    file = write_table(tmp_path / "t.csv", {**columns, "label": labels})
    assert "at least 5 different rows, got" in error_of("fit", file, "--kernel", "rbf")
