"""Many radii: the radius path and the largest useful radius."""
