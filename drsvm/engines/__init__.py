"""Engines store the rows and their state; they return d-sized sums and scalars, nothing of the size of the data."""
