"""Many radii: `radius_path`, warm-started, and the scale of a grid, `radius_max`."""
