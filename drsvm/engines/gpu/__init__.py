"""Rows on a GPU.

`gpu_backend` brings data there, `gpu_rows` are products and Gram matrices, `streaming`
is for too many rows, and `gpu_engine` is the interior point. `cuda_kernels` compiles
`kernels.cu`, which has sums and products, together with the mathematics of a sample, to
which `cuda_translation` gives the form of C++.
"""
