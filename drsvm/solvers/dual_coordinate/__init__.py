"""Methods for many features: dual coordinate ascent, and a working set of features."""
