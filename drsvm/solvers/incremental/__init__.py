"""The paper's incremental methods: `isg`, `ippa` and `hybrid` are sequences of `phases`.

`run` runs them, `epochs` is one pass over the rows, `step_sizes` are the schemes; `block_fit` is `partial_fit`.
"""
