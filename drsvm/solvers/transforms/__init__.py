"""What happens to a problem and its result around a run."""
