"""General-purpose solvers."""
