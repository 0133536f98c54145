"""Compiled inner loops on arrays and scalars."""
