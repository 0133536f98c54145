"""Many radii: `radius_path`, warm-started, and `radius_max`, the scale of a grid."""
