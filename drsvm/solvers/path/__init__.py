"""Many radii: `radius_path`, whose next working set a `forecast` predicts, and `radius_max`, the scale of a grid."""
