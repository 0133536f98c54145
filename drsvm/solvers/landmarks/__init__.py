"""Kernel problems: `solver` proves the full problem in a growing `span` of functions, `rough` works without proofs.

From one span to the next, runs begin `near` the last solution.
"""
