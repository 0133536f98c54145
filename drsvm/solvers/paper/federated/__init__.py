"""Dual ascent on rows that stay on many machines, for many features: vectors of length d travel, never a matrix.

`block` is what a machine does with its rows, `shared` what all of them know; `solver`
queries all machines in rounds or whenever one is ready.
"""
