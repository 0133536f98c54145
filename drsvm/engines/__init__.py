"""Where the rows and their state live: d-sized sums and scalars cross this border, nothing of the size of the data."""
