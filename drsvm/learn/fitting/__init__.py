"""The steps of a fit: data, problems, ball, runs, and what is said in the end; each is a plain function."""
