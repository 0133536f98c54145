"""Kernel problems: `solver` solves them in a growing `span` of functions until the full problem is proven."""
