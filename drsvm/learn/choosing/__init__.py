"""What is chosen after the data: radius, ridge, threshold and probabilities, by rules and by unseen rows."""
