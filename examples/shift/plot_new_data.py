"""
Is this batch different?
========================

A classifier is in use, and every month brings new rows without labels. `measure_shift`
tells how far they have moved, what error to expect, and what is not exceeded if rows
and labels moved no farther than the classifier sees. Here a sensor drifts from the
fourth month on. It is repaired for the last month, but then the meaning of the labels
changes, which cannot be seen without labels.
"""

import numpy as np
from matplotlib import pyplot as plt

from drsvm import BatchShiftsDisplay, ShiftDisplay, WassersteinSVC, measure_shift
from drsvm.audit import BatchShifts

rng = np.random.default_rng(0)


def month(drift, changed=0.0, n=400):
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 5)) + 0.9 * y[:, None]
    X[:, 0] += drift
    return X, np.where(rng.random(n) < changed, 1 - y, y)


X_train, y_train = month(0.0)
X_audit, y_audit = month(0.0)
model = WassersteinSVC().fit(X_train, y_train)

# %% The audited rows were not used for training: distances of training rows would be
# too large. Every month is compared with them. The labels are passed as well, as they
# would arrive later, to see how good the expectations were.

months = [month(drift) for drift in (0.0, 0.0, 0.0, 1.0, 2.0, 3.0)] + [
    month(0.0, changed=0.2)
]
shifts = [
    measure_shift(model, X_audit, y_audit, X, y, random_state=0) for X, y in months
]
print(shifts[5])

# %% In the last month the error is far above the expected one. `relation` says why: the
# movement within the classes is larger than what all rows show together.

for number in (6, 7):
    shift = shifts[number - 1]
    print(
        f"month {number}: relation {shift.relation:.2f} (by chance up to"
        f" {shift.relation_by_chance:.2f})"
    )

plt.style.use("drsvm.plotting.quiet")
figure, (rows, line) = plt.subplots(1, 2, figsize=(11, 4.4))
ShiftDisplay.from_shift(shifts[5], ax=rows)
BatchShiftsDisplay.from_shifts(BatchShifts(list(range(1, 8)), shifts), ax=line)
line.set_xlabel("month")
