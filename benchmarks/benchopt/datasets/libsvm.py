from _common import data_file, load
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """A data set of LIBSVM's collection, NAME.svm.xz in the folder given by DRSVM_DATA.

    Skipped if it is not there.
    """

    name = "libsvm"
    parameters = {"data": ["a1a", "a9a", "ijcnn1"], "radius": [0.1], "flip_cost": [1.0]}

    def get_data(self):
        if data_file(self.data) is None:
            missing = (
                f"{self.data}.svm.xz not found: set DRSVM_DATA to the folder that"
                " contains it"
            )
            return {
                "X": None,
                "y": None,
                "flip_cost": self.flip_cost,
                "missing": missing,
            }
        X, y = load(self.data)
        return {"X": X, "y": y, "radius": self.radius, "flip_cost": self.flip_cost}
