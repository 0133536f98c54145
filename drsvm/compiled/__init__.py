"""Loops compiled by numba, over arrays and scalars: nothing here knows a problem.

`decorators` has the decorator for all of them, `compiling` the compiler, and
`row_access` is how they read a row, dense or sparse.

* Interior point: `interior_point_sample` is the arithmetic of one row,
  `interior_point_passes` the loops over the rows of a thread, `products` their products
  and Gram matrices, `cones` and `second_order_cone` the constraint of the norm, and
  `step_rules` how far a step goes. For few rows, `small_interior_point` takes whole
  steps, with the equations of `normal_matrix`.
* Incremental methods: `single_sample_prox` is the exact proximal step of one row. What
  differs between norms is in `geometry`; `lazy_threshold` stores weights that share a
  soft threshold. On top of them are the epochs: `proximal_epochs`, `memory_epochs`
  (also for batches) and `subgradient_epochs`.
* Dual coordinate ascent: `dual_ascent` improves the multipliers of one row, with
  `dual_ascent_norm2` or `dual_ascent_separable`; `dual_ascent_epochs` visits all rows.
* `epigraph` projects plain vectors, and `admm` updates the samples of ADMM.
"""
