"""Compiled loops over arrays and scalars.

The single-sample step is written once: `triangle` searches the multipliers (σ₁, σ₂),
and `geometry` has the projection of each norm. What a step needs to know about all
other weights comes from `bands` of them; `entries` are products with one row, dense or
sparse. On top of these, `proximal_epochs` (with the iterate of all epochs),
`memory_epochs` (also for batches), `subgradient_epochs` and `dual_ascent*` are thin
loops. `epigraph` projects plain vectors; `interior_point`, `admm` and `products` work
on a few rows at a time, and `passes` are the loops of the interior point over all rows
of a thread. On few rows, `small_run` takes whole steps, with `cones` and `newton`.
`compiling` is the only decorator; `linked_code` saves compile time, `sealed_cache`
stores compiled code.
"""
