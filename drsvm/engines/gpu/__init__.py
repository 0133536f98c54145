"""Rows on a graphics card.

`rows` are products and Gram matrices, `streaming` is for rows that do not fit, `checks` brings data there, `engine` and
`newton` are the interior point, `kernels.cu` has sums and products, `translation` the mathematics of a sample.
"""
