"""Labels that may be wrong: which, and how many."""
