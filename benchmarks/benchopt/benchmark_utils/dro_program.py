"""The package dro, which needs an environment of its own."""

from dro.linear_model import WassersteinDRO
from processes import serve


def prepare(X, y, settings: dict):
    """Return a call that fits the model and returns its weights."""
    model = WassersteinDRO(X.shape[1], "svm", fit_intercept=False, solver="CLARABEL")
    model.update(settings)

    def solve():
        model.fit(X, y)
        return model.theta

    return solve


if __name__ == "__main__":
    serve(prepare)
