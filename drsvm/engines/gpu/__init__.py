"""Rows on a graphics card."""
