"""The worst case for classifiers of this and other libraries.

`linear_model` reads the weights of a classifier, `kernel_model` its landmarks; `decision_values` are those on the rows
of an audit. An `adversary` attacks them; classifiers with a kernel are bounded in their feature space, and attacked by
gradients (`kernel_attack`). `worst_risk` and `worst_distribution` have the functions that users call.
"""
