"""The interior-point method, the default."""
