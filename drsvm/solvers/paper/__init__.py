"""The algorithms of the paper: ISG, IPPA, Hybrid, GS-ADMM, and the federated methods."""
