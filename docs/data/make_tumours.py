"""Write tumours.csv: scikit-learn's breast-cancer data with names of patients, and 80
of 569 labels made wrong.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer(as_frame=True)
labels = data.target_names[data.target]
wrong = np.random.default_rng(0).choice(len(labels), size=80, replace=False)
labels[wrong] = np.where(labels[wrong] == "benign", "malignant", "benign")
table = data.data.assign(diagnosis=labels)
table.insert(
    0,
    "patient",
    [
        f"P{number}"
        for number in 1000 + np.random.default_rng(1).permutation(len(labels)) * 7
    ],
)
table.to_csv("tumours.csv", index=False)
