import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Standard normal features, a linear rule of which a tenth of the weights is not 0,
    and wrong labels.
    """

    name = "simulated"
    parameters = {
        "n_samples, n_features": [(2_000, 50), (20_000, 50)],
        "noise": [0.1],
        "radius": [0.1],
        "flip_cost": [1.0],
    }
    test_parameters = {"n_samples, n_features": [(60, 5)]}

    def get_data(self):
        rng = np.random.default_rng(self.get_seed())
        X = rng.standard_normal((self.n_samples, self.n_features))
        rule = rng.standard_normal(self.n_features) * (
            np.arange(self.n_features) % 10 == 0
        )
        y = np.where(X @ rule >= 0, 1, -1)
        y[rng.random(self.n_samples) < self.noise] *= -1
        return {"X": X, "y": y, "radius": self.radius, "flip_cost": self.flip_cost}
