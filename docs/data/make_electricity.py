"""Write a market's half-hours in months: first_year.csv and second_year.csv, from the
data set electricity (elec2).

It is read from the folder in DRSVM_DATA, or else fetched from OpenML.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd

if "DRSVM_DATA" in os.environ:
    table = pd.read_csv(Path(os.environ["DRSVM_DATA"]) / "electricity.csv.xz")
else:
    from sklearn.datasets import fetch_openml

    data = fetch_openml("electricity", version=1, as_frame=True)
    table = data.data.assign(label=(data.target == "UP").astype(int))

table["label"] = np.where(table["label"] == 1, "up", "down")
table.columns = [
    "date",
    "day",
    "time",
    "price",
    "demand",
    "price_south",
    "demand_south",
    "transfer",
    "label",
]
table["month"] = np.arange(len(table)) // (48 * 30) + 1  # of 30 days
for name, first in (("first_year", 1), ("second_year", 13)):
    rows = table[table["month"].between(first, first + 11)].drop(columns="date")
    rows.to_csv(f"{name}.csv", index=False)
    print(f"{name}.csv: {len(rows):,} rows")
