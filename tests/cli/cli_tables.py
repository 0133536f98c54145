"""Data of the command-line tests."""

import numpy as np

PETS = np.array(["cat", "dog"])


def rows(n=120, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3))
    X[:, 0] += 1.5 * y
    X[:, 1] -= y == 1
    return X, y


def write_table(path, columns, delimiter=","):
    """Write columns of any values, by name; numbers have all digits."""
    lines = [
        columns,
        *zip(
            *(np.asarray(values).tolist() for values in columns.values()), strict=True
        ),
    ]
    path.write_text("".join(delimiter.join(map(str, line)) + "\n" for line in lines))
    return path


def write_csv(path, X, labels, names=("height", "width", "depth"), label="kind"):
    return write_table(path, {**dict(zip(names, X.T, strict=True)), label: labels})


def letters(folder, n):
    """Write a table of three classes; return its file, the rows and the labels."""
    X, y = rows(n, 3)
    labels = np.array(["a", "b", "c"])[y]
    return write_csv(folder / "t.csv", X, labels), X, labels
