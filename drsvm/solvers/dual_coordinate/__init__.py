"""Dual coordinate ascent for many features, and working sets of features."""
