"""A general-purpose conic solver, Clarabel: a reference, and the last resort."""
