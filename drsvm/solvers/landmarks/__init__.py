"""Kernel problems: `solver` proves the full problem in a growing `span` of functions, `rough` works without proof."""
