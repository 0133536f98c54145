"""A general-purpose solver."""
