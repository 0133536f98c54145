"""
More rows than memory
=====================

Rows that do not fit into memory can stay in a file: `drsvm.tables.rows_on_disk` writes
them there, block by block, and the solver reads the mapped file in every iteration. Two
other ways are to train on a sample that fits, or to see every block once with
``partial_fit``. This example compares the three on data whose true direction is known.
The file is small, so that it is quickly made; :doc:`/large_data` has the figures of
large ones.
"""

import numpy as np
from matplotlib import pyplot as plt

from drsvm import WassersteinSVC
from drsvm.tables import rows_on_disk

n_features = 50
n_blocks = 16
truth = np.random.default_rng(0).normal(size=n_features)


def block(seed):
    """Return 4,000 rows and their labels, of which 15 % are wrong; in practice they
    would come from a table.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4000, n_features)).astype(np.float32)
    return X, (X @ truth > 0) ^ (rng.random(len(X)) < 0.15)


def angle(model):
    """Return the angle between the weights and the truth, in degrees."""
    weights = model.coef_[0]
    return np.degrees(
        np.arccos(weights @ truth / np.linalg.norm(weights) / np.linalg.norm(truth))
    )


online = WassersteinSVC(random_state=0)
one_pass = []
for seed in range(n_blocks):
    online.partial_fit(*block(seed), classes=[False, True])
    one_pass.append(angle(online))

with rows_on_disk(block(seed) for seed in range(n_blocks)) as rows:
    print(
        f"{rows.X.shape[0]:,} rows, {rows.X.nbytes / 1e6:.0f} MB,"
        f" {type(rows.X).__name__}"
    )
    model = WassersteinSVC().fit(rows.X, rows.y)
    n_rows = len(rows.y)
    all_rows = angle(model)
    sizes = [500, 1000, 2000, 4000, 8000, 16_000]
    samples = [
        angle(WassersteinSVC().fit(rows.X[:size], rows.y[:size])) for size in sizes
    ]
print(f"the fit of all rows has a proven gap of {model.gap_:.1e}")

# %% The angle to the truth falls about with the square root of the number of rows (the
# grey line), so four times as many rows are needed to halve it. All rows from the file
# are best. Whether they are worth it depends on the data: here a degree puts 0.6 % of
# the rows on the wrong side, and a sample that fits into memory may be enough.

plt.style.use("drsvm.plotting.quiet")
figure, ax = plt.subplots(figsize=(7.5, 4.5))
ax.plot(sizes, samples, marker="o", label="a sample in memory")
ax.plot(
    4000 * np.arange(1, n_blocks + 1),
    one_pass,
    "--",
    marker="s",
    label="partial_fit, one pass over the blocks",
)
ax.plot(
    n_rows,
    all_rows,
    "*",
    markersize=15,
    color="C2",
    label="all rows, from the mapped file",
)
ends = np.array([sizes[0], n_rows])
ax.plot(ends, all_rows * np.sqrt(n_rows / ends), color="0.6", linewidth=1, zorder=1)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="rows",
    ylabel="angle to the true weights, in degrees",
)
ax.set_yticks([1, 2, 5, 10, 20], labels=["1", "2", "5", "10", "20"])
ax.minorticks_off()
ax.legend()
