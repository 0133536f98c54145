"""The worst case for classifiers of this and other libraries.

`linear_model` reads the weights of a classifier, `kernel_model` its landmarks. An `adversary` attacks the decision
values on the rows of an audit; classifiers with a kernel are bounded in their feature space, and attacked by gradients
(`kernel_attack`). `error_costs` are the costs of errors, in the sample and, with `confidence`, in the population.
`worst_risk` and `distribution` have the functions that users call.
"""
