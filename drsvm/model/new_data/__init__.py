"""What happens on new data: how far rows have moved as a classifier sees them, and what follows for its errors.

`seen` keeps what a classifier sees of rows that it was not trained on; `movement` is the distance between such rows and
new ones, `columns` that of single columns, and `shift` has what users call. An `explanation` says why a row is decided
as it is, and `column_sources` leads from features back to the columns of a table.
"""
