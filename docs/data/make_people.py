"""Write people.csv, the table of the tutorial, and new_people.csv: customers who left a
provider, and who stayed.

In people.csv one in four of those who left is recorded as having stayed, as if the last
weeks were not entered yet; the labels of new_people.csv are correct.
"""

import numpy as np
import pandas as pd

LETTERS = list("ABCDEFGHJKLMNPQRSTUVWXYZ")


def people(n, rng):
    """Return n customers, with correct labels."""
    contract = rng.choice(
        ["Month-to-month", "One year", "Two year"], size=n, p=[0.5, 0.25, 0.25]
    )
    tenure = np.ceil(
        rng.gamma(2.0, 9.0, size=n) + 12 * (contract != "Month-to-month")
    ).astype(int)
    charges = (30 + rng.gamma(2.0, 20.0, size=n)).round(2)
    payment = rng.choice(
        ["Bank transfer", "Credit card", "Electronic check", "Mailed check"], size=n
    )
    senior = rng.choice(["yes", "no"], size=n, p=[0.2, 0.8])
    gradient = 2.2 * (contract == "Month-to-month") - 0.06 * tenure + 0.025 * charges
    gradient += 0.6 * (payment == "Electronic check") + 0.4 * (senior == "yes")
    left = gradient + rng.logistic(scale=0.7, size=n) > 2.2
    total = pd.Series((tenure * charges).round(2)).where(rng.random(n) > 0.005)
    return pd.DataFrame(
        {
            "customerID": identifiers(n, rng),
            "senior": senior,
            "tenure": tenure,
            "Contract": contract,
            "PaymentMethod": payment,
            "MonthlyCharges": charges,
            "TotalCharges": total,
            "Churn": np.where(left, "Yes", "No"),
        }
    )


def identifiers(n, rng):
    """Return n different numbers, each with five random letters."""
    return [
        f"{number:04d}-{''.join(rng.choice(LETTERS, size=5))}"
        for number in rng.permutation(10_000)[:n]
    ]


def tables(seed):
    """Return the recorded customers, with wrong labels, and new ones with correct
    labels.
    """
    rng = np.random.default_rng(seed)
    recorded = people(2000, rng)
    new = people(500, rng)
    forgotten = (recorded["Churn"] == "Yes") & (rng.random(2000) < 0.25)
    recorded.loc[forgotten, "Churn"] = "No"
    return recorded, new


if __name__ == "__main__":
    recorded, new = tables(17)
    recorded.to_csv("people.csv", index=False)
    new.to_csv("new_people.csv", index=False)
