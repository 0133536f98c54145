"""
Finding wrong labels
====================

Wrong labels can be found and corrected. `find_label_issues` judges every row by
classifiers that were trained without it, and ranks the labels by how doubtful they are;
with a second opinion it also estimates how many are wrong, where that is possible. Here
5 % of the labels of scikit-learn's handwritten digits are replaced by wrong ones, and
the most doubtful ones are checked by eye.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from drsvm import LabelIssuesDisplay, find_label_issues

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
wrong = rng.choice(len(y), size=len(y) // 20, replace=False)
given = y.copy()
given[wrong] = (y[wrong] + rng.integers(1, 10, size=len(wrong))) % 10

issues = find_label_issues(X, given, second_opinion="auto")
print(issues.summary())
print(
    f"{len(wrong)} labels are wrong;"
    f" {np.isin(issues.ranking[: len(wrong)], wrong).sum()} of them rank first."
)

# %% The scores of all labels, which are their probabilities. Only those are flagged
# whose other label is predicted with confidence.

LabelIssuesDisplay.from_result(issues)

# %% The first row shows the ten most doubtful digits, the second row ten from further
# down the list. Labels in orange were really replaced. Those in black were not: the
# digit is hard to read, or the classifiers are mistaken.

first = issues.ranking[:10]
later = issues.ranking[75:85]
figure, axes = plt.subplots(2, 10, figsize=(10, 3.2), layout="constrained")
for ax, row in zip(axes.flat, [*first, *later], strict=True):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    colour = "#D55E00" if row in wrong else "black"
    ax.set_title(
        f"label {given[row]}\nrather {issues.predicted_label[row]}",
        color=colour,
        fontsize="small",
    )
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("rank 1 to 10")
axes[1, 0].set_ylabel("rank 76 to 85")

# sphinx_gallery_thumbnail_number = 2
