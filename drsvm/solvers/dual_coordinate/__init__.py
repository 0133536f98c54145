"""Methods for many features: dual coordinate ascent, in three forms, and a working set of features."""
