"""Rows in several parts, wherever these are: what a part is asked, and how the answers are put together."""
