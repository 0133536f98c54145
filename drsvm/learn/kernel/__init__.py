"""The classifier in the feature space of a kernel: its function, its data, its problems and the estimator."""
