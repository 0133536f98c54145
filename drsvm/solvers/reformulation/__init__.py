"""What happens to a problem and its result around a run.

`span_of_rows` makes few wide rows narrow, `priced_columns` turns prices into columns
for methods without cones, `constant` has the optimum where flips cost nothing,
`fallback` goes on with another solver. Columns far from 0 are shifted, too
(`problem/centring.py`).
"""
