"""Kernel problems: `solver` proves the full problem in a growing `span` of functions, or works without proof."""
