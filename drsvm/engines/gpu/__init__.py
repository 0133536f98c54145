"""Rows on a graphics card.

`backend` brings data there, `rows` are products and Gram matrices, `streaming` is for
too many, `engine` is the interior point, `kernels.cu` has sums and products, `kernels`
translates the mathematics of a sample.
"""
