"""The steps of a fit: data, problems, ball, runs, and the messages at the end; each is a plain function."""
