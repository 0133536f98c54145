"""Parameters by cross-validation along paths of radii."""
