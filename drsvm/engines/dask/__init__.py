"""Rows on a Dask cluster: how to reach the parts there, and what they cannot know of each other."""
