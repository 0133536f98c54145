"""Write rings.csv: 600 rows of two classes, one around the other, and a column of
noise.
"""

import numpy as np

rng = np.random.default_rng(0)
label = np.arange(600) % 2
angle = rng.uniform(0.0, 2.0 * np.pi, 600)
distance = np.where(label, 0.4, 1.0) + 0.1 * rng.normal(size=600)
columns = [
    distance * np.cos(angle),
    distance * np.sin(angle),
    rng.normal(size=600),
    label,
]
np.savetxt(
    "rings.csv",
    np.column_stack(columns),
    "%.4g",
    ",",
    header="east,north,noise,label",
    comments="",
)
