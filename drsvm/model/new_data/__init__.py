"""What happens on new data: how far rows have moved as a classifier sees them, and what follows for its errors.

An `audit` keeps what a classifier sees of rows that it was not trained on; `movement` is the distance between such rows
and new ones, `columns` that of single columns. `shift` has what users call, `batches` the movement from batch to batch.
"""
