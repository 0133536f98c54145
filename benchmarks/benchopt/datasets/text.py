from _text import text_like
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Text-like sparse rows of unit norm: words follow Zipf's law, two topics overlap,
    5 % of the labels are wrong.
    """

    name = "text"
    parameters = {
        "n_samples, n_features": [(2_000, 10_000), (20_000, 60_000)],
        "radius_share": [0.1],
        "flip_cost": [1.0],
    }
    test_parameters = {"n_samples, n_features": [(60, 200)]}

    def get_data(self):
        X, y = text_like(self.n_samples, self.n_features, seed=self.get_seed())
        return {
            "X": X,
            "y": y,
            "radius_share": self.radius_share,
            "flip_cost": self.flip_cost,
        }
