"""The paper's incremental methods: `run` has their settings and runs, which are sequences of `phases`.

`epochs` is one pass over the rows, `step_sizes` are the schemes; `block_fit` is
`partial_fit`.
"""
